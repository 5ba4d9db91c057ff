"""How figures are judged and drawn, on made-up figures: python3 -m unittest discover -s benches."""

import unittest
import xml.etree.ElementTree as xml

import measure
from measure import PAGE
from measuring import backup, beside, draw, draw_page, estimates, film_questions, growth, log_rows, orders, peers_rows, planning, queries, restart, vlfs
from measuring import tls
from measuring.bench import Found, judge_memory


def verdicts(row, series, **facts):
    return [line.met for line in row.judge(Found(series, facts))]


class Judging(unittest.TestCase):
    def test_a_ratio_at_its_goal_is_met_and_one_above_is_not(self):
        series = {"INSERT 16": [1.0, 1.1, 1.2], "INSERT 64": [1.1, 1.155, 1.3], "DELETE 16": [1.0], "DELETE 64": [1.06]}
        self.assertEqual(verdicts(vlfs.ROW, series, vlfs=64), [True, False])

    def test_a_start_may_take_50_ms_more(self):
        for seconds, met in ((0.249, True), (0.251, False)):
            series = {"start-up 16": [0.2], "start-up 64": [seconds]}
            self.assertEqual(verdicts(vlfs.ROW, series, vlfs=64), [met])

    def test_an_interrupted_row_shows_what_it_has(self):
        self.assertEqual(verdicts(vlfs.ROW, {"INSERT 16": [1.0]}, vlfs=64), [])
        for row in measure.ROWS.values():
            self.assertEqual(row.judge(Found()), [], row.name)

    def test_beside_another_build_more_than_one_is_better_for_times_rates_and_memory(self):
        figures = {"INSERT": (2.0, 1.0), "logins/s, one client": (10.0, 20.0), beside.MEMORY: (50.0, 25.0)}
        series = {}
        for name, (other, this) in figures.items():
            series |= {f"{name} {beside.OTHER}": [other], f"{name} {beside.THIS}": [this]}
        lines = beside.ROW.judge(Found(series, {"vlfs": 64}))
        self.assertEqual([line.ratio.split()[0] for line in lines], ["2.000"] * 3)

    def test_encryption_may_cost_a_tenth_and_a_fifth_of_a_bulk_load(self):
        for work, ratio, met in ((tls.READS, 1.1, True), (tls.COMMITS, 1.11, False), (tls.BULK, 1.2, True), (tls.BULK, 1.21, False)):
            series = {f"{work} {level}": [1.0 if level == tls.OFF else ratio] for level in tls.LEVELS}
            self.assertEqual(verdicts(tls.ROW, series), [met] * 3, (work, ratio))
        series = {f"{tls.LOGINS} {level}": [2.0] for level in tls.LEVELS}
        self.assertEqual(verdicts(tls.ROW, series, logins=300), [None] * 3)

    def test_latency_may_double_while_the_log_grows(self):
        series = {"p50_us growing": [1], "p50_us grown before": [1], "growths": [9], "p999_us grown before": [100.0]}
        for tail, met in ((200.0, True), (201.0, False)):
            found = {**series, "p999_us growing": [tail]}
            self.assertEqual(verdicts(growth.ROW, found, growth_mb=32, commits=40_000), [met])

    def test_the_best_peer_is_the_measure(self):
        series = {f"wide-insert seconds {name}": [seconds] for name, seconds in (("vlflab", 1), ("mariadb", 1.4), ("sqlite", 9))}
        self.assertEqual(verdicts(peers_rows.ROW, series, workloads=["wide-insert"]), [False])
        series["wide-insert seconds mariadb"] = [1.5]
        self.assertEqual(verdicts(peers_rows.ROW, series, workloads=["wide-insert"]), [True])

    def test_a_load_may_be_bound_by_the_processor_instead_of_the_disk(self):
        series = {"log MB/s": [100], "cores busy": [1], "disk MB/s, 1 in flight": [900], "disk MB/s, 8 in flight": [1000]}
        for busiest, met in ((0.2, False), (0.99, True)):
            self.assertEqual(verdicts(log_rows.LOG_WRITE, {**series, "busiest thread, cores": [busiest]}), [met])

    def test_a_backup_is_measured_by_the_disks_reads_whatever_the_disk_can_copy(self):
        series = {backup.READS: [1000.0], backup.CEILING: [600.0], "full backup": [650.0], "log backup to NUL": [700.0]}
        self.assertEqual(verdicts(backup.ROW, series), [False, True])

    def test_a_compressed_backup_may_be_bound_by_the_disk_or_by_two_cores(self):
        kind = "compressed full backup"
        for rate, zstd, met in ((699.0, 350.0, False), (700.0, 500.0, True), (699.0, 349.5, True)):
            series = {backup.READS: [1000.0], backup.ZSTD: [zstd], kind: [rate]}
            self.assertEqual(verdicts(backup.ROW, series, zstd_ratio=3.2), [met])

    def test_a_restart_without_its_peer_is_not_judged_against_it(self):
        series = {f"first query s, {restart.SHIPPED}": [0.4], f"recovered s, {restart.SHIPPED}": [0.5]}
        self.assertEqual(verdicts(restart.ROW, series, log_bytes=1, postgresql="not installed"), [True, None])
        series["postgresql redo s"], series["postgresql first query s"] = [0.9], [1.2]
        self.assertEqual(verdicts(restart.ROW, series, log_bytes=1, postgresql_wal_bytes=1), [True, False])

    def test_a_question_that_only_the_peer_answers_is_missed(self):
        series = {"EXISTS seconds vlflab": [0.3], "EXISTS seconds postgresql": [0.2], "IN seconds postgresql": [0.2]}
        self.assertEqual(verdicts(queries.ROW, series), [True, False, False])

    def test_answers_are_the_same_rows_and_numbers_within_a_millionth(self):
        self.assertTrue(queries.is_same(["a|0.0499", "b|NULL"], ["a|0.04990000004", "b|NULL"]))
        for other in (["a|0.0498", "b|NULL"], ["a|0.0499"], ["a|0.0499", "c|NULL"], ["a|0.0499", "b|"]):
            self.assertFalse(queries.is_same(["a|0.0499", "b|NULL"], other))

    def test_a_question_is_spelled_for_each_engine(self):
        query = "select <top 10> <after n + 1> from t <limit 10>"
        ours, theirs = (dialect.text(query) for dialect in (orders.VLFLAB, orders.POSTGRESQL))
        self.assertEqual(ours, "select top 10 dateadd(minute, n + 1, cast('2020-01-01' as datetime2(0))) from t ")
        self.assertEqual(theirs, "select  timestamp '2020-01-01' + (n + 1) * interval '1 minute' from t limit 10")

    def test_the_row_with_the_most_memory_decides(self):
        self.assertEqual([line.met for line in judge_memory({"a": 10, "b": 4_296})], [True])
        self.assertEqual([line.met for line in judge_memory({"a": 4_297, "b": 10})], [False])


class Estimating(unittest.TestCase):
    def test_the_films_have_113_questions_of_3_to_16_joins(self):
        joins = [len(family.tables.split()) - 1 for family in film_questions.FAMILIES]
        self.assertEqual((len(joins), min(joins), max(joins), len(film_questions.QUERIES)), (33, 3, 16, 113))
        self.assertEqual(len(set(film_questions.QUERIES.values())), 113)

    def test_equal_columns_are_all_said_to_be_equal(self):
        joined = film_questions.joins(["n", "t", "ci", "mk"])
        self.assertEqual(joined, ["ci.movie_id = t.id", "mk.movie_id = t.id", "ci.movie_id = mk.movie_id", "ci.person_id = n.id"])

    def test_an_estimate_errs_by_as_much_above_as_below_and_never_by_less_than_a_row(self):
        self.assertEqual([estimates.q_error(*pair) for pair in ((10, 5), (5, 10), (0, 0.5), (0.01, 4))], [2, 2, 1, 4])

    def test_a_fetch_of_rows_is_part_of_the_access_and_a_join_has_the_tables_below_it(self):
        actual = '<RunTimeInformation><RunTimeCountersPerThread ActualRows="{}" ActualExecutions="{}"/></RunTimeInformation>'

        def operator(physical, logical, expected, figures, inside="", table=""):
            names = f'PhysicalOp="{physical}" LogicalOp="{logical}" EstimateRows="{expected}" {table}'
            return f"<RelOp {names}>{actual.format(*figures)}<Own>{inside}</Own></RelOp>"

        table = 'TableCardinality="9"'
        seek = operator("Index Seek", "Index Seek", 2, (2, 1), table=table)
        fetch = operator("Key Lookup", "Key Lookup", 1, (2, 2), table=table)
        fetched = operator("Nested Loops", "Inner Join", 2, (4, 1), f"{seek}{fetch}")
        scan = operator("Clustered Index Scan", "Clustered Index Scan", 9, (36, 4), table=table)
        joined = operator("Hash Match", "Inner Join", 18, (6, 1), f"{fetched}{scan}")
        root = f'<Root xmlns="{estimates.SHOWPLAN[1:-1]}">{joined}</Root>'
        counted = estimates.Counted()
        self.assertEqual(estimates.count_ours(xml.fromstring(root)[0], counted), 2)
        self.assertEqual(counted.operators, [("access", 1, 2.0, 4.0), ("access", 1, 9.0, 9.0), ("hash join", 2, 18.0, 6.0)])

    def test_the_tail_is_the_least_that_95_of_100_are_at_most(self):
        self.assertEqual([estimates.tail_of(range(1, count + 1)) for count in (100, 20, 1)], [95, 19, 1])

    def test_no_text_is_planned_twice(self):
        self.assertEqual(len({planning.another("select 1 as one<place>") for _ in range(9)}), 9)


class Drawing(unittest.TestCase):
    def test_every_measured_panel_is_drawn_as_well_formed_svg(self):
        series = {"commit us by clients": [[1, 115.0], [64, 21.0]], "first query ms by VLFs": [[16, 95.0], [126_399, 99.0]]}
        machine = {"cpu": "a & b", "cpus": 2, "date": "2026-01-01 00:00", "load_at_start": 0.1}
        results = {"machine": machine, "quick": False, "rows": {"scaling": {"series": series}}}
        lines = xml.fromstring(draw.chart(results)).findall(".//{http://www.w3.org/2000/svg}polyline")
        self.assertEqual(len(lines), 2)

    def test_the_cost_axis_shows_two_decades_at_least(self):
        self.assertEqual(draw.decades([95.0, 99.0], 2), (1, 3))
        self.assertEqual(draw.decades([1.0, 1000.0], 2), (0, 3))

    def test_the_chart_of_the_page_is_drawn_from_the_table_of_the_page(self):
        page = PAGE.read_text()
        self.assertEqual(draw_page.chart(page), PAGE.with_suffix(".svg").read_text(), "benches/measure.py --draw-page")
        self.assertEqual(len(xml.fromstring(draw_page.chart(page)).findall(".//{http://www.w3.org/2000/svg}rect")), 21)


if __name__ == "__main__":
    unittest.main()
