-- SPDX-License-Identifier: Apache-2.0
-- Operators by shape against the rates of their GPU, the most time above them first: `steptime trace roofline`.
-- The first :top are listed, the others summed up; :full_names keeps long names in text.

--: let measured
SELECT *, max(achievable_ns, coalesce(roof_ns, 0)) AS best_ns FROM work;

--: let shaped
SELECT operator, shapes, max(type) AS type, max(class) AS class, count(*) AS calls,
       sum(kernels) AS kernels, sum_ns(duration_ns) AS time_ns,
       sum_ns(duration_ns) FILTER (WHERE best_ns IS NOT NULL) AS known_ns,
       sum_ns(best_ns) AS achievable_ns, sum_ns(roof_ns) AS roof_ns,
       sum(flop) AS flop, sum(bytes) AS bytes,
       sum_ns(max(duration_ns - best_ns, 0)) AS above_ns
FROM measured GROUP BY operator, shapes;

--: let ranked
SELECT * FROM shaped ORDER BY coalesce(above_ns, 0) DESC, time_ns DESC;

--: let known
SELECT count(*) AS shape_count, coalesce(sum_ns(time_ns), 0) AS time_ns,
       coalesce(sum_ns(achievable_ns), 0) AS achievable_ns,
       coalesce(sum_ns(above_ns), 0) AS above_ns, coalesce(:top, 20) AS top
FROM ranked;

--: let unknown
SELECT coalesce(sum_ns(duration_ns), 0) AS time_ns FROM measured WHERE best_ns IS NULL;

--: let computing
SELECT coalesce(sum_ns(duration_ns), 0) AS time_ns, count(*) AS kernels
FROM kernels WHERE kind = 'kernel' AND class <> 'communication';

--: let captured
SELECT coalesce(sum_ns(duration_ns), 0) AS time_ns FROM work WHERE captured = 1;

--: let graphs
SELECT coalesce(sum_ns(k.duration_ns), 0) - captured.time_ns AS time_ns
FROM captured LEFT JOIN (kernels AS k JOIN calls AS c ON c.id = k.call_id)
ON c.name LIKE '%GraphLaunch%' AND k.kind = 'kernel' AND k.class <> 'communication';

--: fields
SELECT shape_count AS shapes, known.time_ns, known.achievable_ns, known.above_ns,
       computing.time_ns - known.time_ns AS without_shapes_ns, graphs.time_ns AS graphs_ns,
       unknown.time_ns AS unknown_ns
FROM known, computing, graphs, unknown;

--: say
SELECT printf('%d shapes of operators, %s of kernels; %s above what this GPU achieves', shape_count,
              ms(time_ns), ms(above_ns)) || char(10)
FROM known;

--: say
SELECT printf('%s of these have no achievable time: the shapes do not say what they move, as of lookups and sorts',
              ms(time_ns)) || char(10)
FROM unknown WHERE time_ns > 0;

--: say
SELECT printf('%s of other kernels have no shapes; record with torch.profiler.profile(record_shapes=True)',
              ms(computing.time_ns - known.time_ns - graphs.time_ns)) || char(10)
FROM known, computing, graphs WHERE computing.time_ns - known.time_ns - graphs.time_ns > 0;

--: say
SELECT printf('%s of kernels of CUDA graphs have the operators of their capture, or of the same kernels before it',
              ms(time_ns)) || char(10)
FROM captured WHERE time_ns > 0;

--: say
SELECT printf('%s of kernels are of CUDA graphs, whose operators ran in a capture that is not recorded, or in several that differ; begin torch.profiler.profile(record_shapes=True) before the warm-up and the capture',
              ms(time_ns)) || char(10)
FROM graphs WHERE time_ns > 0;

--: say
SELECT char(10);

--: rows rows
--: text *operator=.name|shapes=.shapes|type|>calls|>time=.time|>TFLOP/s=.rate|>TB/s=.bandwidth|>of achievable=.share|>of peak=.peak|>above=.above
--: csv operator,shapes,type,class,calls,kernels,time_ns,achievable_ns,roof_ns,above_ns,flop,bytes
SELECT operator, ranked.shapes, type, class, calls, kernels, ranked.time_ns, ranked.achievable_ns, roof_ns,
       ranked.above_ns, flop, bytes,
       CASE WHEN :full_names THEN operator ELSE short(operator) END AS ".name",
       CASE WHEN :full_names THEN ranked.shapes ELSE short(ranked.shapes) END AS ".shapes",
       ms(ranked.time_ns) AS ".time",
       CASE WHEN flop > 0 THEN fixed(flop / ranked.time_ns / 1e3, 1) END AS ".rate",
       CASE WHEN bytes > 0 THEN fixed(bytes / ranked.time_ns / 1e3, 2) END AS ".bandwidth",
       CASE WHEN known_ns > 0 THEN percent(ranked.achievable_ns, known_ns) END AS ".share",
       CASE WHEN roof_ns > 0 THEN percent(roof_ns, known_ns) END AS ".peak",
       CASE WHEN known_ns > 0 THEN ms(ranked.above_ns) END AS ".above"
FROM ranked, known ORDER BY ranked.rowid LIMIT (SELECT top FROM known);

--: map others
--: csv .none,.none,.none,.none,calls,kernels,time_ns,achievable_ns,.none,above_ns,.none,.none
SELECT count(*) AS shapes, coalesce(sum(calls), 0) AS calls, coalesce(sum(kernels), 0) AS kernels,
       coalesce(sum_ns(time_ns), 0) AS time_ns, coalesce(sum_ns(achievable_ns), 0) AS achievable_ns,
       coalesce(sum_ns(above_ns), 0) AS above_ns,
       CASE WHEN count(*) > 0 THEN printf('%d others', count(*)) END AS ".name",
       ms(sum_ns(time_ns)) AS ".time", ms(sum_ns(above_ns)) AS ".above"
FROM ranked WHERE rowid > (SELECT top FROM known);
