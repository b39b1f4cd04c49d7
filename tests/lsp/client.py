#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of the language server, for the tests: messages in frames over pipes."""
import json
import select
import subprocess
import time


class Client:
    def __init__(self, program, *words, env=None, quiet=False):
        self.process = subprocess.Popen([program, "lsp", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE if quiet else None, env=env)
        self.number = 0
        self.buffer = b""
        self.notes = []
        self.version = 0
        self.versions = {}  # of the text that each file was sent with last

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def note(self, method, **params):
        self.send({"method": method, "params": params})

    def receive(self, seconds=20):
        """The next message of the server."""
        end = time.monotonic() + seconds
        while True:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if found:
                length = int(head.split(b":")[1])
                if len(rest) >= length:
                    self.buffer = rest[length:]
                    return json.loads(rest[:length])
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError(f"no answer in {seconds} s")
            data = self.process.stdout.read1(1 << 16)
            if not data:
                raise EOFError(f"the server ended with {self.process.wait()}")
            self.buffer += data

    def ask(self, method, **params):
        """The answer to a request; diagnostics that come before it are kept."""
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                return message
            self.notes.append(message)

    def diagnostics(self, uri):
        """The next ones of a file as it was sent last."""
        while True:
            for index, message in enumerate(self.notes):
                params = message.get("params", {})
                if params.get("uri") == uri and params.get("version", self.version) >= self.versions.get(uri, 0):
                    return self.notes.pop(index)["params"]["diagnostics"]
            self.notes.append(self.receive())

    def start(self, root=None):
        answer = self.ask("initialize", processId=None, capabilities={}, rootUri=root)
        self.note("initialized")
        return answer["result"]

    def next_version(self, uri):
        self.version += 1
        self.versions[uri] = self.version
        return self.version

    def open(self, uri, text):
        self.note("textDocument/didOpen",
                  textDocument={"uri": uri, "languageId": "yaml", "version": self.next_version(uri), "text": text})

    def change(self, uri, text):
        self.note("textDocument/didChange", textDocument={"uri": uri, "version": self.next_version(uri)},
                  contentChanges=[{"text": text}])

    def at(self, method, uri, position, **params):
        return self.ask("textDocument/" + method, textDocument={"uri": uri},
                        position={"line": position[0], "character": position[1]}, **params)

    def stop(self):
        self.ask("shutdown")
        self.note("exit")
        self.process.stdin.close()
        return self.process.wait(20)


def place_of(text, needle, offset=0, number=0):
    """Line and character of the n-th occurrence, `offset` characters into it."""
    at = -1
    for _ in range(number + 1):
        at = text.index(needle, at + 1)
    before = text[:at + offset]
    line = before.count("\n")
    return line, len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
