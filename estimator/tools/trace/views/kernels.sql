-- SPDX-License-Identifier: Apache-2.0
-- Kernels, copies and fills of all ranks by name, the longest total first: `steptime trace kernels`.
-- The first :top are listed, the others summed up; :full_names keeps long names in text.

--: let named
SELECT name,
       max(class) FILTER (WHERE place = 1) AS class,
       sum(count) AS count,
       sum_ns(total_ns) AS total_ns,
       min(least_ns) AS least_ns,
       max(most_ns) AS most_ns,
       count(*) AS ranks,
       min(total_ns) AS rank_least_ns,
       max(total_ns) AS rank_most_ns,
       max(rank) FILTER (WHERE place = 1) AS rank_most
FROM (SELECT *, row_number() OVER (PARTITION BY name ORDER BY total_ns DESC, rank) AS place
      FROM (SELECT rank, name, class, count(*) AS count, sum_ns(duration_ns) AS total_ns,
                   min(duration_ns) AS least_ns, max(duration_ns) AS most_ns
            FROM kernels GROUP BY rank, name))
GROUP BY name ORDER BY 4 DESC, name;

--: let known
SELECT (SELECT count(*) FROM ranks) AS ranks, count(*) AS kernels, sum_ns(total_ns) AS total_ns,
       coalesce(:top, 20) AS top
FROM named;

--: fields
SELECT ranks, kernels, total_ns FROM known;

--: say
SELECT printf('%d kernels on %d ranks%s', kernels, ranks,
              CASE WHEN kernels > top THEN ', the longest' ELSE '' END)
       || char(10, 10)
FROM known;

--: rows rows
--: text *kernel=.name|class|>count|>time=.time|>share=.share|>mean=.mean|>least=.least|>most=.most|?>least rank=.rank_least|?>most rank=.rank_most|?>is rank=.rank
--: csv name,class,count,total_ns,mean_ns,least_ns,most_ns,ranks,rank_least_ns,rank_most_ns,rank_most
SELECT name, class, count, named.total_ns, 1.0 * named.total_ns / count AS mean_ns, least_ns,
       most_ns, named.ranks, rank_least_ns, rank_most_ns, rank_most,
       CASE WHEN :full_names THEN name ELSE short(name) END AS ".name",
       ms(named.total_ns) AS ".time",
       percent(named.total_ns, known.total_ns) AS ".share",
       fixed(1.0 * named.total_ns / count / 1e3, 1) || ' us' AS ".mean",
       fixed(least_ns / 1e3, 1) || ' us' AS ".least",
       fixed(most_ns / 1e3, 1) || ' us' AS ".most",
       CASE WHEN known.ranks > 1 THEN ms(rank_least_ns) END AS ".rank_least",
       CASE WHEN known.ranks > 1 THEN ms(rank_most_ns) END AS ".rank_most",
       CASE WHEN known.ranks > 1 THEN rank_most END AS ".rank"
FROM named, known ORDER BY named.rowid LIMIT (SELECT top FROM known);

--: map others
--: csv .name,.none,count,total_ns,.none,.none,.none,.none,.none,.none,.none
SELECT count(*) AS kernels,
       coalesce(sum(count), 0) AS count,
       sum_ns(total_ns) AS total_ns,
       CASE WHEN count(*) > 0 THEN printf('%d others', count(*)) END AS ".name",
       ms(sum_ns(total_ns)) AS ".time",
       percent(sum_ns(total_ns), (SELECT total_ns FROM known)) AS ".share"
FROM named WHERE rowid > (SELECT top FROM known);
