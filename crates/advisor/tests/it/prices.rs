//! What a plan costs on a disk: the log as it is beside the planned one, in every output format.
#![allow(clippy::unwrap_used)]

use advisor::price::{PlanPrice, PricedDisk};
use advisor::render::{PlanText, plan_html, plan_json, plan_markdown, plan_table, price_csv};
use advisor::script::{ScriptNames, of_search};
use advisor::size::{GB, Growth, MB};
use advisor::{Found, Plan, PlanRequest, SearchRequest, Start, search};
use device::parameter::{Kind, Range, Ranges};
use vlf::LogLayout;
use vlf::ServerVersion::{self, V2005, V2012, V2019, V2022};

/// A flash disk whose small requests take 1 ms and whose transfers 1 ms for each megabyte; a worse one takes twice the latency.
fn disk() -> PricedDisk {
    let ranges = Ranges::collect(Kind::Flash, |name| {
        let value = match name {
            "read_us" | "write_us" => {
                return Some(Range {
                    low: 1000.0,
                    typical: 1000.0,
                    high: 2000.0,
                });
            }
            "flush_us" | "iops" | "throughput_mb_s" | "reads_mb_s" => 0.0,
            "read_mb_s" | "write_mb_s" => 1048.576,
            "sector_bytes" => 512.0,
            "metadata_blocks" => 2.0,
            _ => 256.0,
        };
        Some(Range::exactly(value))
    });
    PricedDisk {
        name: "simple".to_owned(),
        title: "A disk to reckon with".to_owned(),
        ranges: ranges.unwrap(),
        why: vec!["Nobody named a disk.".to_owned()],
    }
}

fn grown(version: ServerVersion, first: u64, step: u64, to: u64) -> LogLayout {
    let mut layout = LogLayout::create(version, first).unwrap();
    layout.grow_until(to, step).unwrap();
    layout
}

/// A log of 20,480 VLFs, and the steps to 8,000 MB that are advised for it.
fn searched() -> (LogLayout, Found) {
    let existing = grown(V2005, MB, MB, 5 * GB);
    let found = search(&SearchRequest {
        version: V2019,
        start: Start::Existing(existing.clone()),
        target_file_bytes: 8000 * MB,
        target_vlfs: None,
    });
    (existing, found.unwrap())
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.02, "{found}, expected {expected}");
}

#[test]
fn a_log_of_many_vlfs_is_priced_beside_the_plan() {
    let (existing, found) = searched();
    let price = PlanPrice::of(&found.plan, Some(&existing), disk());
    let now = price.existing.unwrap();
    assert_eq!((now.vlf_count, now.growth_count), (20_480, 5_119));
    // A read of 4 KB is 1.004 ms, a growth 2 ms of zeros and 8 writes of at most 8 KB.
    assert_near(now.prices.discovery.typical_s, 20_480.0 * 0.001_003_9);
    assert_near(now.prices.discovery.slow_s, 20_480.0 * 0.002_003_9);
    assert_near(now.prices.growths.typical_s, 5_119.0 * 0.010_05);
    assert_near(now.prices.switches.typical_s, 20_480.0 * 0.001_007_8);
    let then = price.planned;
    assert_eq!(then.vlf_count, found.plan.layout.vlf_count() as u64);
    assert_near(then.prices.discovery.typical_s, then.vlf_count as f64 * 0.001_003_9);
    assert!(then.prices.restore.typical_s > 8.0 * 2.0 && then.prices.restore.typical_s < 17.0);
    let sum: f64 = price.growths.iter().map(|each| each.typical_s).sum();
    assert_near(sum, then.prices.growths.typical_s);
    assert_eq!(price.automatic, None);
}

#[test]
fn every_form_shows_the_price() {
    let (existing, found) = searched();
    let price = PlanPrice::of(&found.plan, Some(&existing), disk());
    let tsql = of_search(&found, &ScriptNames::usual("Sales"), Some(&price));
    assert!(tsql.contains("-- Writers wait for them, on simple about "), "{tsql}");
    let growths = tsql.lines().filter(|line| line.contains("SIZE = "));
    assert!(growths.clone().count() > 0);
    assert!(
        growths
            .clone()
            .all(|line| line.contains(", about ") && line.ends_with(" s")),
        "{tsql}"
    );
    let text = PlanText {
        plan: &found.plan,
        found: Some(&found),
        tsql: Some(&tsql),
        price: Some(&price),
        map: false,
    };
    let table = plan_table(text);
    let section = table
        .split("\nPrice on simple: A disk to reckon with\n")
        .nth(1)
        .unwrap();
    let section = section.split("\nThe same steps").next().unwrap();
    for part in [
        "seconds",
        "as it is",
        "as planned",
        "20,480 now",
        "5,119 now",
        "20.6",
        "Nobody named a disk.",
    ] {
        assert!(section.contains(part), "no {part} in\n{section}");
    }
    let figures = section.lines().skip(1).take(5);
    assert!(
        figures
            .clone()
            .all(|line| !line.contains(" ms") && !line.contains(" min")),
        "{section}"
    );
    assert!(plan_markdown(text).contains("| finding the VLFs at each start (20,480 now, "));
    let page = plan_html(text);
    for part in [
        "<h2>Price on simple: A disk to reckon with</h2>",
        "<td>finding the VLFs at each start (20,480 now, ",
        "<td class=\"n\">20.6</td>",
        "SET NOEXEC ON",
        "</html>",
    ] {
        assert!(page.contains(part), "no {part} in\n{page}");
    }
    let mut json = Vec::new();
    plan_json(text, &mut json).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(value["price"]["disk"], "simple");
    assert_eq!(value["price"]["as_it_is"]["vlf_count"], 20_480);
    assert_near(
        value["price"]["as_it_is"]["discovery"]["typical_s"].as_f64().unwrap(),
        20.56,
    );
    assert!(value["price"]["as_planned"]["restore"]["slow_s"].as_f64().is_some());
}

/// Since 2022 the log grows by itself up to 64 MB without zeros; ALTER DATABASE writes them.
#[test]
fn growth_by_itself_is_cheap_since_2022() {
    let price = |version, by_itself: bool| {
        let plan = Plan::of(&PlanRequest {
            version,
            start: Start::Create(64 * MB),
            growths: if by_itself {
                Vec::new()
            } else {
                vec![Growth::Bytes(64 * MB)]
            },
            autogrowth: by_itself.then_some(Growth::Bytes(64 * MB)),
            to_bytes: by_itself.then_some(128 * MB),
        });
        PlanPrice::of(&plan.unwrap(), None, disk())
    };
    let seconds = |version, by_itself| price(version, by_itself).planned.prices.growths.typical_s;
    assert!(seconds(V2022, true) < 0.02, "{}", seconds(V2022, true));
    assert!(seconds(V2022, false) > 0.12 && seconds(V2012, true) > 0.12);
    let automatic = price(V2022, true).automatic.unwrap();
    assert_eq!(automatic.0, 64 * MB);
    assert!(automatic.1.typical_s < 0.02);
    assert!(price(V2022, true).existing.is_none());
}

/// Four VLFs a megabyte are not of 2022's rules: such a log was zeroed, whatever version has it now.
#[test]
fn a_log_that_an_older_version_has_grown_was_zeroed() {
    let keep = |version| {
        let plan = Plan::of(&PlanRequest {
            version,
            start: Start::Existing(grown(V2005, MB, MB, 100 * MB)),
            growths: Vec::new(),
            autogrowth: None,
            to_bytes: None,
        });
        let existing = grown(V2005, MB, MB, 100 * MB);
        let price = PlanPrice::of(&plan.unwrap(), Some(&existing), disk());
        price.existing.unwrap().prices.growths.typical_s
    };
    assert_eq!(keep(V2022), keep(V2019));
    let by_2022 = grown(V2022, MB, MB, 100 * MB);
    assert!(by_2022.vlf_count() < 110);
}

/// Rows of CSV as cells, the heading first.
fn cells(csv: &str) -> Vec<Vec<&str>> {
    csv.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn csv_has_a_row_for_each_thing_with_the_seconds_of_the_json_document() {
    let (existing, found) = searched();
    let price = PlanPrice::of(&found.plan, Some(&existing), disk());
    let csv = price_csv(&price);
    let rows = cells(&csv);
    let heading = "disk,thing,as_it_is_count,as_it_is_fast_s,as_it_is_typical_s,as_it_is_slow_s,\
                   as_planned_count,as_planned_fast_s,as_planned_typical_s,as_planned_slow_s";
    assert_eq!(rows[0].join(","), heading);
    let things: Vec<&str> = rows[1..].iter().map(|row| row[1]).collect();
    let all = ["growths", "discovery", "switch", "switches", "restore", "log_backup"];
    assert_eq!(things[..6], all);
    assert!(rows.iter().all(|row| row.len() == 10), "{csv}");
    assert_eq!(rows[2][2], "20480");
    let mut json = Vec::new();
    let text = PlanText {
        plan: &found.plan,
        found: Some(&found),
        tsql: None,
        price: Some(&price),
        map: false,
    };
    plan_json(text, &mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    for row in &rows[1..7] {
        for (log, first) in [("as_it_is", 3), ("as_planned", 7)] {
            for (offset, case) in ["fast_s", "typical_s", "slow_s"].into_iter().enumerate() {
                let expected = json["price"][log][row[1]][case].as_f64().unwrap();
                let found: f64 = row[first + offset].parse().unwrap();
                assert!((found - expected).abs() <= expected * 1e-9, "{} {case}", row[1]);
            }
        }
    }
}

/// A log that is created has no seconds of before, and a disk's file may have any name.
#[test]
fn csv_leaves_empty_what_is_not_there_and_quotes_names() {
    let plan = Plan::of(&PlanRequest {
        version: V2022,
        start: Start::Create(8 * MB),
        growths: Vec::new(),
        autogrowth: Some(Growth::Bytes(64 * MB)),
        to_bytes: Some(GB),
    });
    let disk = PricedDisk {
        name: "mine, \"old\".toml".to_owned(),
        ..disk()
    };
    let csv = price_csv(&PlanPrice::of(&plan.unwrap(), None, disk));
    let quoted = "\"mine, \"\"old\"\".toml\",";
    let last = csv.lines().last().unwrap().strip_prefix(quoted).unwrap();
    assert!(last.starts_with("automatic_growth,,,,,1,0.0"), "{csv}");
}

/// A log of 72 MB beside a plan of 64 GB: the advice looked a thousand times slower, because it is that for a log so much larger. The log
/// as it is, grown on to the same size, stands between them.
#[test]
fn logs_of_different_sizes_are_compared_at_one_size() {
    let existing = grown(V2012, 8 * MB, MB, 72 * MB);
    let found = search(&SearchRequest {
        version: V2019,
        start: Start::Existing(existing.clone()),
        target_file_bytes: 64 * GB,
        target_vlfs: None,
    })
    .unwrap();
    let price = PlanPrice::of(&found.plan, Some(&existing), disk());
    let (grown_on, usual) = price.grown_on.unwrap();
    assert_eq!((usual.growth, usual.is_of_last), (Growth::Bytes(MB), true));
    assert_eq!(grown_on.file_bytes, price.planned.file_bytes);
    // 65,464 growths of 1 MB: one VLF each by the rules of 2019.
    assert_eq!(grown_on.vlf_count, existing.vlf_count() as u64 + 65_464);
    let (with, without) = (price.planned.prices, grown_on.prices);
    assert!(with.discovery.typical_s < without.discovery.typical_s / 100.0);
    assert!(with.restore.typical_s < without.restore.typical_s);
    let text = PlanText {
        plan: &found.plan,
        found: Some(&found),
        tsql: None,
        price: Some(&price),
        map: false,
    };
    let table = plan_table(text);
    for part in [
        "size of the log",
        "72 MB",
        "64 GB",
        "grown on",
        "grown by 1 MB at a time, as it grew last",
    ] {
        assert!(table.contains(part), "no {part} in\n{table}");
    }
    let mut json = Vec::new();
    plan_json(text, &mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["price"]["grown_on"]["file_bytes"], 64 * GB);
    assert_eq!(json["price"]["as_it_is"]["file_bytes"], 72 * MB);
}

/// A log that never grew takes the default of its version; one that has the size already stands by itself.
#[test]
fn a_log_without_growths_is_grown_by_the_default_of_its_version() {
    let fresh = LogLayout::create(V2022, 8 * MB).unwrap();
    let usual = |version| {
        let plan = Plan::of(&PlanRequest {
            version,
            start: Start::Existing(fresh.clone()),
            growths: vec![Growth::Bytes(512 * MB)],
            autogrowth: None,
            to_bytes: None,
        });
        PlanPrice::of(&plan.unwrap(), Some(&fresh), disk()).grown_on.unwrap().1
    };
    assert_eq!(
        (usual(V2022).growth, usual(V2012).growth),
        (Growth::Bytes(64 * MB), Growth::Percent(10))
    );
    assert!(!usual(V2022).is_of_last);
    let (existing, _) = searched();
    let same = Plan::of(&PlanRequest {
        version: V2019,
        start: Start::Existing(existing.clone()),
        growths: Vec::new(),
        autogrowth: None,
        to_bytes: None,
    });
    assert!(
        PlanPrice::of(&same.unwrap(), Some(&existing), disk())
            .grown_on
            .is_none()
    );
}

/// A log that does not grow pays nothing for growths: 0, where `-0,-0,-0` was printed.
#[test]
fn no_growth_costs_nothing_and_not_minus_nothing() {
    let existing = LogLayout::create(V2022, 64 * MB).unwrap();
    let plan = Plan::of(&PlanRequest {
        version: V2022,
        start: Start::Existing(existing.clone()),
        growths: Vec::new(),
        autogrowth: None,
        to_bytes: None,
    });
    let csv = price_csv(&PlanPrice::of(&plan.unwrap(), Some(&existing), disk()));
    let row = csv.lines().nth(1).unwrap();
    assert_eq!(row, "simple,growths,0,0,0,0,0,0,0,0");
    assert!(!csv.contains("-0"), "{csv}");
}
