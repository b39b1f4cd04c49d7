# SPDX-License-Identifier: Apache-2.0
"""Random programs that train as frameworks do, a simulator of them, and traces as Kineto writes them.

A program runs on ranks with threads and streams: launches, events, synchronisations of every kind,
collectives, copies, CUDA graphs, pauses. The simulator is a queue of moments in time and knows nothing
of how steptime replays a trace: threads are coroutines that go on when what they wait for is over,
streams are queues that the GPU empties. A `Change` takes effect where the recording begins, so that the
same program run again tells what the recorded steps would truly have taken.

Times are whole nanoseconds.
"""
import dataclasses
import heapq
import itertools
import json
import random

US = 1000
MS = 1000 * US
BASE_NS = 1_700_000_000_000_000_000


@dataclasses.dataclass
class Change:
    """What is different from the recording on; `text` is the same for `steptime trace whatif`."""
    text: tuple = ()
    classes: dict = dataclasses.field(default_factory=dict)  # class: so many times as fast
    names: dict = dataclasses.field(default_factory=dict)  # kernel name: so many times as fast
    removed: tuple = ()  # kernel names
    host: float = 1  # host, so many times as fast
    launch: float = 1  # calls that launch, so many times as fast
    layers: int = 0  # 0: as recorded
    micros: int = 0
    have: tuple = ()  # of the recorded job, for --have
    remove: str = ""  # for --remove
    fused: tuple = ()  # names of two kernels, and the time of the one in microseconds, 0: of both together
    fuse: str = ""  # for --fuse
    inserted: tuple = ()  # name of a kernel, and the time of the one behind it in microseconds
    insert: str = ""  # for --insert

    def kernel_ns(self, kernel, duration_ns):
        return round(duration_ns / self.classes.get(kernel.kind, 1) / self.names.get(kernel.name, 1))


class Moment:
    """Something that is over at some time; threads and streams wait for it."""

    def __init__(self):
        self.done = False
        self.waiting = []

    def finish(self, sim):
        self.done = True
        waiting, self.waiting = self.waiting, []
        for go_on in waiting:
            sim.at(sim.now, go_on)

    def then(self, sim, go_on):
        if self.done:
            sim.at(sim.now, go_on)
        else:
            self.waiting.append(go_on)


@dataclasses.dataclass
class Kernel:
    name: str
    kind: str  # of steptime's classes
    duration_ns: int
    earliest_ns: int = 0
    correlation: int = -1
    meeting: object = None  # of a collective
    graph: bool = False


class Meeting:
    """A collective: it ends on all ranks when the last has come and what is sent is through."""

    def __init__(self, size, transfer_ns, group, sequence):
        self.size, self.transfer_ns, self.group, self.sequence = size, transfer_ns, group, sequence
        self.arrived = 0
        self.over = Moment()


class Stream:
    def __init__(self, rank, number):
        self.rank, self.number = rank, number
        self.queue = []
        self.busy = False
        self.free_ns = 0

    def push(self, kind, item):
        self.queue.append((kind, item))
        self.go_on()

    def go_on(self):
        if self.busy or not self.queue:
            return
        sim = self.rank.sim
        kind, item = self.queue[0]
        self.busy = True
        if kind == "record":
            self.leave()
            item.finish(sim)
            self.go_on()
        elif kind == "wait":
            item.then(sim, self.waited)
        else:
            sim.at(max(sim.now, item.earliest_ns, self.free_ns + self.rank.gap_ns), lambda: self.start(item))

    def leave(self):
        self.queue.pop(0)
        self.busy = False

    def waited(self):
        self.leave()
        self.go_on()

    def start(self, kernel):
        sim, start_ns = self.rank.sim, self.rank.sim.now
        change = self.rank.change()
        if kernel.meeting is not None:
            kernel.meeting.arrived += 1
            if kernel.meeting.arrived == kernel.meeting.size:
                through_ns = change.kernel_ns(kernel, kernel.meeting.transfer_ns)
                sim.at(sim.now + through_ns, lambda: kernel.meeting.over.finish(sim))
            kernel.meeting.over.then(sim, lambda: self.end(kernel, start_ns))
            return
        duration_ns = change.kernel_ns(kernel, kernel.duration_ns)
        sim.at(sim.now + duration_ns, lambda: self.end(kernel, start_ns))

    def end(self, kernel, start_ns):
        self.rank.ran(self, kernel, start_ns)
        self.free_ns = self.rank.sim.now
        self.leave()
        self.go_on()


class Simulation:
    def __init__(self):
        self.now = 0
        self.heap = []
        self.count = itertools.count()

    def at(self, time_ns, go_on):
        heapq.heappush(self.heap, (time_ns, next(self.count), go_on))

    def start(self, coroutine):
        def step():
            try:
                pause = next(coroutine)
            except StopIteration:
                return
            if isinstance(pause, Moment):
                pause.then(self, step)
            else:
                self.at(self.now + max(0, round(pause)), step)
        self.at(self.now, step)

    def run(self):
        while self.heap:
            self.now, _, go_on = heapq.heappop(self.heap)
            go_on()


@dataclasses.dataclass
class Plan:
    """All that a seed decides."""
    seed: int
    ranks: int = 1
    layers: int = 4
    micros: int = 1
    warm_up: int = 1
    steps: int = 2
    backward_thread: bool = False
    handover_us: float = 20
    copies: str = ""  # "", "pinned", "pageable"
    item: str = ""  # "", "step", "forward"
    end: str = ""  # how a step ends
    watchdog: bool = False
    loader: bool = False
    clock_us: float = 0  # the GPU's clock is late by this
    sync_records: bool = False
    event_records: bool = True
    flows: bool = True
    graph: bool = False
    free: bool = False
    tensor_parallel: bool = False
    fused: bool = False
    kernel_us: float = 60
    host_us: float = 12
    old_records: bool = False  # calls without kinds of newer profilers
    last_sync: bool = True


ENDS = ["", "device", "stream", "event", "earlier", "spin", "unrecorded"]


def draw_plan(seed):
    r = random.Random(seed)
    p = Plan(seed)
    p.ranks = r.choice([1, 1, 1, 2, 2, 4])
    p.layers = r.randint(3, 7)
    p.micros = r.choice([1, 1, 2, 3])
    p.steps = r.choice([1, 2, 2, 3])
    p.backward_thread = r.random() < 0.6
    p.handover_us = r.choice([15, 40, 120, 300, 800])
    p.copies = r.choice(["", "", "pinned", "pageable"])
    p.item = r.choice(["", "", "step", "forward"])
    p.end = r.choice(ENDS)
    p.watchdog = r.random() < 0.3
    p.loader = r.random() < 0.2
    p.clock_us = r.choice([0, 0, 0, 10, 35, -8])
    p.sync_records = r.random() < 0.3
    p.event_records = r.random() < 0.8 or p.sync_records
    p.flows = r.random() < 0.7
    p.graph = r.random() < 0.12
    p.free = r.random() < 0.15
    p.tensor_parallel = p.ranks > 1 and r.random() < 0.5
    p.fused = r.random() < 0.25
    p.kernel_us = r.choice([15, 40, 90, 200])
    p.host_us = r.choice([4, 9, 20, 45])
    p.last_sync = r.random() < 0.6
    return p


class Rank:
    """One process: what its threads do, what its GPU does, what a profiler sees of both."""

    def __init__(self, program, number):
        self.program, self.sim, self.number = program, program.sim, number
        self.plan = program.plan
        self.random = random.Random(f"{self.plan.seed}/{number}")
        self.streams = {n: Stream(self, n) for n in (7, 20, 24)}
        self.gap_ns = 1 * US
        self.recording = False
        self.over = False
        self.from_ns = self.to_ns = 0
        self.correlation = 100 * number
        self.calls, self.tasks, self.operators, self.step_marks, self.syncs, self.flows = [], [], [], [], [], []
        self.sequence = 0
        self.counters = {}
        self.window = None
        self.main = 1000 * (number + 1) + 1
        self.backward = self.main + 1
        self.last_event = None

    def change(self):
        return self.program.change if self.recording else NOTHING

    # --- what is recorded

    def ran(self, stream, kernel, start_ns):
        if self.recording and start_ns >= self.from_ns:
            self.tasks.append((stream.number, kernel, start_ns, self.sim.now))

    def called(self, thread, name, start_ns, correlation):
        if self.recording and not self.over and start_ns >= self.from_ns:
            self.calls.append((thread, name, start_ns, self.sim.now, correlation))

    # --- the host

    def work(self, microseconds):
        """Host work; a pause for the coroutine."""
        return microseconds * US / self.change().host

    def jitter(self, what, least=0.7, most=1.4):
        """The same for the same piece of the program, whatever has changed before it."""
        return self.random_of(what).uniform(least, most)

    def random_of(self, what):
        return random.Random(f"{self.plan.seed}/{self.number}/{what}")

    def call(self, thread, name, cost_us, act=None, launches=False):
        start_ns = self.sim.now
        self.correlation += 1
        correlation = self.correlation
        if act is not None:
            act(correlation)
        speed = self.change().launch if launches else 1
        yield cost_us * US / self.change().host / speed
        self.called(thread, name, start_ns, correlation)
        return correlation

    def launch(self, thread, stream, kernel, name="cudaLaunchKernel", operator=None, prepared=False):
        if kernel.name in self.change().removed:
            return
        start_ns = self.sim.now
        if not prepared:
            yield self.work(self.plan.host_us * self.jitter(kernel.name + "/host"))

        def act(correlation):
            kernel.correlation = correlation
            kernel.earliest_ns = self.sim.now + round(6 * US + 1500 * self.jitter(kernel.name + "/lag", 0, 1))
            self.streams[stream].push("kernel", kernel)
        yield from self.call(thread, name, 4, act, launches=True)
        if operator is not None and self.recording and not self.over:
            self.operators.append((thread, operator, start_ns, self.sim.now))

    def record(self, thread, stream):
        moment = Moment()
        holder = {}

        def act(correlation):
            holder["correlation"] = correlation
            self.streams[stream].push("record", moment)
        name = "cudaEventRecord" if self.plan.event_records else None
        yield from self.named_call(thread, name, 1.5, act)
        moment.record, moment.stream = holder["correlation"], stream
        return moment

    def named_call(self, thread, name, cost_us, act):
        """A call; without a name one that this profiler does not know."""
        start_ns = self.sim.now
        self.correlation += 1
        correlation = self.correlation
        act(correlation)
        yield cost_us * US / self.change().host
        if name is not None:
            self.called(thread, name, start_ns, correlation)
        return correlation

    def wait_event(self, thread, stream, moment):
        start_ns = self.sim.now

        def act(_):
            self.streams[stream].push("wait", moment)
        correlation = yield from self.named_call(thread, "cudaStreamWaitEvent", 1.5, act)
        self.note_sync("Stream Wait Event", correlation, stream, moment, start_ns)

    def note_sync(self, kind, correlation, stream, moment, start_ns):
        if self.plan.sync_records and self.recording and not self.over and start_ns >= self.from_ns:
            self.syncs.append((kind, correlation, stream, moment, start_ns, self.sim.now))

    def marker(self, stream):
        moment = Moment()
        self.streams[stream].push("record", moment)
        return moment

    def block(self, thread, name, moments, stream=-1, event=None):
        """A call that returns when all is over."""
        start_ns = self.sim.now
        self.correlation += 1
        correlation = self.correlation
        yield 2 * US / self.change().host
        waited = False
        for moment in moments:
            waited = waited or not moment.done
            yield moment
        yield 6 * US / self.change().host
        if name is not None:
            self.called(thread, name, start_ns, correlation)
            kind = {"cudaStreamSynchronize": "Stream Sync", "cudaEventSynchronize": "Event Sync",
                    "cudaDeviceSynchronize": "Context Sync"}.get(name)
            if kind is not None and waited:
                self.note_sync(kind, correlation, stream, event, start_ns)

    def sync_device(self, thread, name="cudaDeviceSynchronize"):
        yield from self.block(thread, name, [self.marker(n) for n in self.streams])

    def sync_stream(self, thread, stream):
        yield from self.block(thread, "cudaStreamSynchronize", [self.marker(stream)], stream)

    def sync_event(self, thread, moment):
        yield from self.block(thread, "cudaEventSynchronize", [moment], -1, moment)

    def spin(self, thread, moment, pause_us=5):
        while True:
            yield from self.call(thread, "cudaEventQuery", 1.2)
            if moment.done:
                return
            yield pause_us * US

    def copy(self, thread, stream, kernel, pageable):
        start_ns = self.sim.now
        if not pageable:
            yield from self.launch(thread, stream, kernel, "cudaMemcpyAsync")
            return
        yield self.work(5)
        start_ns = self.sim.now
        self.correlation += 1
        kernel.correlation = self.correlation
        kernel.earliest_ns = self.sim.now + 8 * US
        self.streams[stream].push("kernel", kernel)
        yield self.marker(stream)
        yield 4 * US / self.change().host
        self.called(thread, "cudaMemcpyAsync", start_ns, kernel.correlation)

    # --- the GPU

    def kernel(self, where, name, kind, share):
        duration_ns = round(self.plan.kernel_us * US * share * self.jitter(f"{where}/{name}/gpu", 0.98, 1.02))
        return Kernel(name, kind, max(1200, duration_ns))

    def collective(self, thread, where, name, transfer_us, after=7):
        """As frameworks launch them: the stream of communication waits for that of computation."""
        event = yield from self.record(thread, after)
        yield from self.wait_event(thread, 20, event)
        meeting = self.program.meet(where, transfer_us)
        kernel = Kernel(name, "communication", 0, meeting=meeting)
        yield from self.launch(thread, 20, kernel, "cudaLaunchKernelExC", operator=f"nccl:{where.split('/')[-1]}")
        done = yield from self.record(thread, 20)
        return done

    # --- training

    def layer(self, thread, where, forward):
        p = self.plan
        factor = 1 if forward else 2
        pieces = [("norm_fwd_kernel" if forward else "norm_bwd_kernel", "norm", 0.15),
                  ("ampere_gemm_qkv", "gemm", 1.0), ("flash_fwd_kernel" if forward else "flash_bwd_kernel",
                                                     "attention", 0.8),
                  ("ampere_gemm_proj", "gemm", 0.5), ("vectorized_elementwise_add", "elementwise", 0.2),
                  ("ampere_gemm_up", "gemm", 1.3), ("vectorized_elementwise_gelu", "elementwise", 0.3),
                  ("ampere_gemm_down", "gemm", 1.3)]
        if p.fused:
            pieces = [("flash_fwd_kernel" if forward else "flash_bwd_kernel", "attention", 1.2),
                      ("ampere_gemm_all", "gemm", 3.2)]
        if not forward:
            pieces = list(reversed(pieces))
        direction = "forward" if forward else "backward"
        if p.graph and forward:
            yield from self.graph(thread, where, pieces)
        else:
            kernels = [self.kernel(where, name, kind, share * factor) for name, kind, share in pieces]
            for kernel in self.join(kernels):
                yield from self.launch(thread, 7, kernel, operator=f"aten::{direction}_{kernel.name}")
                if kernel.name in self.change().inserted:
                    further = Kernel("inserted", "other", round(self.change().inserted[1] * US))
                    yield from self.launch(thread, 7, further, prepared=True)
        if p.tensor_parallel:
            done = yield from self.collective(thread, f"{where}/tp", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                                              p.kernel_us * 0.8)
            yield from self.wait_event(thread, 7, done)

    def join(self, kernels):
        """Two kernels that become one are launched where the first one was."""
        joined = []
        first, second, time_us = self.change().fused or ("", "", 0)
        for kernel in kernels:
            if joined and joined[-1].name == first and kernel.name == second:
                both_ns = joined[-1].duration_ns + kernel.duration_ns
                joined[-1].duration_ns = round(time_us * US) if time_us else both_ns
            else:
                joined.append(kernel)
        return joined

    def graph(self, thread, where, pieces):
        yield self.work(self.plan.host_us)

        def act(correlation):
            kernels = []
            for kernel in self.join([self.kernel(where, name, kind, share) for name, kind, share in pieces]):
                kernels.append(kernel)
                if kernel.name in self.change().inserted:
                    kernels.append(Kernel("inserted", "other", round(self.change().inserted[1] * US)))
            for i, kernel in enumerate(kernels):
                kernel.correlation, kernel.graph = correlation, True
                kernel.earliest_ns = self.sim.now + 8 * US if i == 0 else 0
                self.streams[7].push("kernel", kernel)
        yield from self.call(thread, "cudaGraphLaunch", 7, act, launches=True)

    def forward_pass(self, where):
        for layer in range(self.layers()):
            yield from self.layer(self.main, f"{where}/f{layer}", True)
            if self.plan.item == "forward" and layer == self.layers() // 2:
                yield from self.item(f"{where}/item")

    def item(self, where):
        """tensor.item(): a copy to pageable memory, and a wait for it."""
        kernel = Kernel("Memcpy DtoH (Device -> Pageable)", "memory", 1900)
        yield from self.launch(self.main, 7, kernel, "cudaMemcpyAsync")
        yield from self.sync_stream(self.main, 7)
        yield self.work(15)

    def backward_pass(self, thread, where, last):
        self.reductions = []
        for layer in reversed(range(self.layers())):
            yield from self.layer(thread, f"{where}/b{layer}", False)
            if last and self.plan.ranks > 1 and not self.plan.tensor_parallel:
                done = yield from self.collective(thread, f"{where}/dp{layer}",
                                                  "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                                  self.plan.kernel_us * 2.2)
                self.reductions.append(done)

    def layers(self):
        return self.change().layers or self.plan.layers

    def micros(self):
        return self.change().micros or self.plan.micros

    def run_backward(self, where, last):
        if not self.plan.backward_thread:
            yield from self.backward_pass(self.main, where, last)
            return
        begin, end = Moment(), Moment()

        def other():
            yield begin
            yield self.work(self.plan.handover_us * self.jitter(where + "/wake"))
            yield from self.backward_pass(self.backward, where, last)
            end.finish(self.sim)
        self.sim.start(other())
        begin.finish(self.sim)
        yield end
        yield self.work(self.plan.handover_us * self.jitter(where + "/woken"))

    def step(self, number):
        p, where = self.plan, f"s{number}"
        previous = self.last_event
        if p.copies:
            kernel = Kernel("Memcpy HtoD (Pageable -> Device)" if p.copies == "pageable"
                            else "Memcpy HtoD (Pinned -> Device)", "memory", 90 * US)
            yield from self.copy(self.main, 24, kernel, p.copies == "pageable")
            event = yield from self.record(self.main, 24)
            yield from self.wait_event(self.main, 7, event)
        for micro in range(self.micros()):
            yield from self.forward_pass(f"{where}/m{micro}")
            yield from self.run_backward(f"{where}/m{micro}", micro == self.micros() - 1)
        for done in getattr(self, "reductions", []):
            yield from self.wait_event(self.main, 7, done)
        if p.free:
            yield from self.sync_device(self.main, "cudaFree")
        for k in range(3):
            kernel = self.kernel(f"{where}/o{k}", "multi_tensor_apply_adam", "optimizer", 0.7)
            kernel.duration_ns = kernel.duration_ns * self.layers() // p.layers
            yield from self.launch(self.main, 7, kernel, operator="optimizer")
        if p.item == "step":
            yield from self.item(f"{where}/item")
        if p.end == "device":
            yield from self.sync_device(self.main)
        elif p.end == "stream":
            yield from self.sync_stream(self.main, 7)
        elif p.end == "unrecorded":
            yield self.marker(7)
            yield 20 * US
        elif p.end:
            self.last_event = yield from self.record(self.main, 7)
            if p.end == "spin":
                yield from self.spin(self.main, self.last_event)
            elif p.end == "event":
                yield from self.sync_event(self.main, self.last_event)
            elif previous is not None:
                yield from self.sync_event(self.main, previous)
        yield self.work(30)

    def train(self):
        p = self.plan
        yield self.number * 3 * US
        for number in range(p.warm_up):
            yield from self.step(number)
        self.recording = True
        self.from_ns = self.sim.now
        for number in range(p.warm_up, p.warm_up + p.steps):
            start_ns = self.sim.now
            yield from self.step(number)
            self.step_marks.append((number, start_ns, self.sim.now))
        if p.last_sync:
            yield from self.sync_device(self.main)
        self.to_ns = self.sim.now
        self.over = True

    def watch(self):
        thread = self.main + 5
        while not self.over:
            yield 1.7 * MS
            if not self.over:
                yield from self.call(thread, "cudaEventQuery", 1.1)

    def load(self):
        """Data loading on a thread of its own that nobody waits for."""
        number = 0
        while not self.over:
            start_ns = self.sim.now
            number += 1
            yield 230 * US * self.jitter(f"load{number}")
            if self.recording and not self.over:
                self.operators.append((self.main + 6, "aten::stack", start_ns, self.sim.now))
            yield 340 * US


NOTHING = Change()


class Program:
    def __init__(self, plan, change=NOTHING):
        self.plan, self.change = plan, change
        self.sim = Simulation()
        self.meetings = {}
        self.ranks = [Rank(self, n) for n in range(plan.ranks)]

    def meet(self, where, transfer_us):
        if where not in self.meetings:
            transfer = transfer_us * US * random.Random(f"{self.plan.seed}/{where}").uniform(0.9, 1.2)
            self.meetings[where] = Meeting(self.plan.ranks, round(transfer), 0, len(self.meetings))
        return self.meetings[where]

    def run(self):
        for rank in self.ranks:
            self.sim.start(rank.train())
            if self.plan.watchdog:
                self.sim.start(rank.watch())
            if self.plan.loader:
                self.sim.start(rank.load())
        self.sim.run()
        return self

    def steps_ns(self):
        """The duration of each recorded step on the host of the first rank."""
        return [end - start for _, start, end in self.ranks[0].step_marks]

    def total_ns(self):
        """From the start of the recording to the end of the last recorded work, over all ranks."""
        ends = []
        for rank in self.ranks:
            ends += [task[3] for task in rank.tasks] + [rank.to_ns]
        return max(ends) - min(rank.from_ns for rank in self.ranks)


def microseconds(time_ns):
    return float(f"{time_ns / 1000:.3f}")


def complete(category, name, process, thread, start_ns, end_ns, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": microseconds(start_ns),
            "dur": microseconds(end_ns - start_ns), "args": arguments}


def trace_of(rank):
    """What Kineto writes of a rank."""
    p, process, events = rank.plan, 4000 + rank.number, []
    late_ns = round(p.clock_us * US)
    for thread, name, start_ns, end_ns, correlation in rank.calls:
        events.append(complete("cuda_runtime", name, process, thread, start_ns, end_ns, correlation=correlation))
    known = {call[4] for call in rank.calls}
    for stream, kernel, start_ns, end_ns in rank.tasks:
        arguments = {"device": rank.number, "stream": stream, "correlation": kernel.correlation}
        category = "kernel"
        if kernel.name.startswith("Memcpy"):
            category = "gpu_memcpy"
        if kernel.meeting is not None:
            arguments.update({"Collective name": "allreduce", "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20,
                              "Group size": p.ranks, "dtype": "Float", "Process Group Name": "0",
                              "Process Group Ranks": str(list(range(p.ranks)))})
        events.append(complete(category, kernel.name, rank.number, stream, start_ns + late_ns, end_ns + late_ns,
                               **arguments))
        if kernel.correlation in known:
            events.append({"ph": "f", "id": kernel.correlation, "pid": rank.number, "tid": stream, "cat": "ac2g",
                           "name": "ac2g", "ts": microseconds(start_ns + late_ns), "bp": "e"})
    for thread, name, start_ns, end_ns in rank.operators:
        events.append(complete("cpu_op", name, process, thread, start_ns, end_ns))
    for number, start_ns, end_ns in rank.step_marks:
        events.append(complete("user_annotation", f"ProfilerStep#{number}", process, rank.main, start_ns, end_ns))
    for kind, correlation, stream, moment, start_ns, end_ns in rank.syncs:
        arguments = {"cuda_sync_kind": kind, "stream": stream, "correlation": correlation, "device": rank.number}
        if moment is not None:
            arguments.update({"wait_on_stream": moment.stream, "wait_on_cuda_event_record_corr_id": moment.record,
                              "wait_on_cuda_event_id": 1})
        events.append(complete("cuda_sync", kind, rank.number, stream, start_ns, end_ns, **arguments))
    random.Random(p.seed).shuffle(events)
    return {"schemaVersion": 1, "deviceProperties": [{"id": rank.number, "name": "NVIDIA A100-SXM4-80GB",
                                                      "numSms": 108}],
            "distributedInfo": {"backend": "nccl", "rank": rank.number, "world_size": p.ranks},
            "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NS, "traceEvents": events}


def write_traces(program, folder):
    for rank in program.ranks:
        path = folder / f"rank{rank.number}.json"
        path.write_text(json.dumps(trace_of(rank)))
