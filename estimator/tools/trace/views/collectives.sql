-- SPDX-License-Identifier: Apache-2.0
-- Collectives by kind, group and message, and who is late to them: `steptime trace collectives`.

--: let by_message
SELECT collective, group_size AS ranks, bytes, count(*) AS kernels,
       sum_ns(duration_ns) AS kernel_ns, sum_ns(duration_ns) / count(*) AS kernel_mean_ns,
       count(instance) AS matched, sum(transfer_ns) AS transfer_ns, sum(waiting_ns) AS waiting_ns,
       sum(transfer_ns) / count(instance) AS transfer_mean_ns,
       sum(skew_ns) / count(skew_ns) AS skew_mean_ns, max(skew_ns) AS skew_most_ns
FROM collectives GROUP BY 1, 2, 3;

--: let met
SELECT (SELECT count(*) FROM ranks) AS ranks, count(DISTINCT instance) AS met FROM collectives;

--: fields
SELECT ranks, met FROM met;

--: say
SELECT printf('%d ranks, %d collectives that several of them are recorded in', ranks, met)
       || char(10, 10)
FROM met;

--: rows collectives
--: text *collective=.name|>ranks=.ranks|>bytes=.bytes|>kernels|>kernel=.kernel|>bus at least=.least_bus|>transfer=.transfer|>algorithm=.algorithm|>bus=.bus|>skew=.skew|>most=.most_skew
--: csv collective,ranks,bytes,kernels,kernel_ns,matched,transfer_ns,waiting_ns,skew_mean_ns,skew_most_ns,kernel_bus_bandwidth,algorithm_bandwidth,bus_bandwidth
SELECT *,
       short(collective) AS ".name",
       coalesce(ranks, 'unknown') AS ".ranks",
       CASE WHEN bytes IS NULL THEN 'unknown'
            WHEN bytes < 1e6 THEN fixed(bytes / 1e3, 1) || ' kB'
            ELSE fixed(bytes / 1e6, 1) || ' MB' END AS ".bytes",
       ms(".kernel_mean_ns") AS ".kernel",
       coalesce(fixed(kernel_bus_bandwidth / 1e9, 1) || ' GB/s', 'unknown') AS ".least_bus",
       coalesce(ms(".transfer_mean_ns"), 'unknown') AS ".transfer",
       coalesce(fixed(algorithm_bandwidth / 1e9, 1) || ' GB/s', 'unknown') AS ".algorithm",
       coalesce(fixed(bus_bandwidth / 1e9, 1) || ' GB/s', 'unknown') AS ".bus",
       coalesce(ms(skew_mean_ns), 'unknown') AS ".skew",
       coalesce(ms(skew_most_ns), 'unknown') AS ".most_skew"
FROM (SELECT collective, ranks, bytes, kernels, kernel_ns, matched, transfer_ns, waiting_ns,
             skew_mean_ns, skew_most_ns,
             bus_factor(collective, ranks) * (bytes / (kernel_mean_ns / 1e9))
                 AS kernel_bus_bandwidth,
             bytes / (transfer_mean_ns / 1e9) AS algorithm_bandwidth,
             bus_factor(collective, ranks) * (bytes / (transfer_mean_ns / 1e9)) AS bus_bandwidth,
             kernel_mean_ns AS ".kernel_mean_ns", transfer_mean_ns AS ".transfer_mean_ns"
      FROM by_message)
ORDER BY kernel_ns DESC, bytes DESC, collective, ranks;

--: say
SELECT char(10);

--: rows stragglers
--: text *late ranks=.name|>came last=.last|>delayed all by=.caused|>late, mean=.late|>waited=.waiting|>computes=.compute
SELECT file, stated_rank AS rank, collectives, last, caused_ns, late_ns, waiting_ns, compute_ns,
       'rank ' || rank AS ".name",
       coalesce(last || ' of ' || collectives, 'unknown') AS ".last",
       coalesce(ms(caused_ns), 'unknown') AS ".caused",
       coalesce(ms(late_ns / collectives), 'unknown') AS ".late",
       coalesce(ms(waiting_ns), 'unknown') AS ".waiting",
       ms(compute_ns) AS ".compute"
FROM (SELECT rank, file, stated_rank, exposed_compute_ns + overlapped_ns AS compute_ns
      FROM ranks JOIN rank_times USING (rank))
LEFT JOIN (SELECT rank, count(*) AS collectives, count(skew_ns) AS last,
                  coalesce(sum(caused_ns), 0) AS caused_ns, sum(late_ns) AS late_ns,
                  sum(waiting_ns) AS waiting_ns
           FROM collectives WHERE instance IS NOT NULL GROUP BY rank) USING (rank)
ORDER BY coalesce(caused_ns, 0) DESC, coalesce(stated_rank, -1), rank;

--: map beside_computation
SELECT alone, overlapped AS beside, slowdown, error_frac, error_none_frac FROM transfer_slowdown;

--: say
SELECT printf('%s  beside computation %d transfers take %s times as long as %d alone of the same '
              || 'message and group%s  each by the others: %s %% off, without a slowdown %s %%%s%s',
              char(10), overlapped, fixed(slowdown, 3), alone, char(10),
              fixed(100 * error_frac, 1), fixed(100 * error_none_frac, 1),
              CASE WHEN slowdown >= 1 THEN '; trace whatif has overlap.communication_slowdown'
                   ELSE '' END, char(10))
FROM transfer_slowdown WHERE slowdown IS NOT NULL;

--: say
SELECT printf('%s  who waits for whom is unknown: give the traces of all ranks%s', char(10), char(10))
FROM met WHERE met = 0;
