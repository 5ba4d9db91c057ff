//! Plans against published layouts and counts; searches for better plans, scripts, pasted layouts. The figures are written
//! out here.
//!
//! Depth: one search in 7, one advised layout in 3; deep: every one.
#![allow(clippy::unwrap_used)]

use advisor::pasted::{Choice, layout_from_text};
use advisor::plan::{GROWTHS_MAX, PlanError};
use advisor::render::{PlanText, plan_csv, plan_json, plan_markdown, plan_table};
use advisor::script::{ScriptNames, of_search};
use advisor::search::advised_vlf_count;
use advisor::size::{GB, Growth, KB, MB};
use advisor::{Plan, PlanRequest, SearchRequest, Start, search};
use vlf::ServerVersion::{self, V2005, V2008, V2008R2, V2012, V2014, V2016, V2019, V2022};

fn plan(version: ServerVersion, initial: u64, growths: &[u64], auto: Option<(Growth, u64)>) -> Plan {
    Plan::of(&PlanRequest {
        version,
        start: Start::Create(initial),
        growths: growths.iter().copied().map(Growth::Bytes).collect(),
        autogrowth: auto.map(|auto| auto.0),
        to_bytes: auto.map(|auto| auto.1),
    })
    .unwrap()
}

fn by(growth_bytes: u64, to_bytes: u64) -> Option<(Growth, u64)> {
    Some((Growth::Bytes(growth_bytes), to_bytes))
}

fn by_percent(percent: u32, to_bytes: u64) -> Option<(Growth, u64)> {
    Some((Growth::Percent(percent), to_bytes))
}

fn spans(plan: &Plan) -> Vec<(u64, u64)> {
    plan.layout
        .vlfs()
        .iter()
        .map(|vlf| (vlf.span.bytes, vlf.span.offset))
        .collect()
}

/// The golden vectors V1 to V6: published `DBCC LOGINFO` outputs, size and offset of every row that was published.
#[test]
fn published_layouts() {
    let created = |version, kb: u64| spans(&plan(version, kb * KB, &[], None));
    assert_eq!(created(V2005, 504), [(253_952, 8192), (253_952, 262_144)]);
    assert_eq!(created(V2008, 512), [(253_952, 8192), (262_144, 262_144)]);
    assert_eq!(
        created(V2012, 1040),
        [
            (262_144, 8192),
            (262_144, 270_336),
            (262_144, 532_480),
            (270_336, 794_624)
        ]
    );
    assert_eq!(
        created(V2005, 768),
        [(253_952, 8192), (253_952, 262_144), (270_336, 516_096)]
    );
    let rusanu = plan(V2008R2, 504 * KB, &[], by_percent(10, 18_677_760));
    let rows = spans(&rusanu);
    assert_eq!(rows.len(), 59);
    assert_eq!(
        rows[2..5],
        [(270_336, 516_096), (262_144, 786_432), (262_144, 1_048_576)]
    );
    assert_eq!(
        rows[55..],
        [
            (393_216, 16_973_824),
            (393_216, 17_367_040),
            (393_216, 17_760_256),
            (524_288, 18_153_472)
        ]
    );
    let shrunk = plan(V2012, 528 * KB, &[], by_percent(10, 3_604_480));
    assert_eq!(shrunk.layout.vlf_count(), 13);
    assert_eq!(
        spans(&shrunk)[1..4],
        [(278_528, 262_144), (311_296, 540_672), (262_144, 851_968)]
    );
    assert_eq!(spans(&shrunk)[11..], [(327_680, 2_949_120), (327_680, 3_276_800)]);
    assert_eq!(
        created(V2022, 8192),
        [
            (2_031_616, 8192),
            (2_031_616, 2_039_808),
            (2_031_616, 4_071_424),
            (2_285_568, 6_103_040)
        ]
    );
}

/// V7: real files, by their growths.
#[test]
fn real_small_logs() {
    let sizes = |plan: &Plan| plan.layout.vlfs().iter().map(|vlf| vlf.span.bytes).collect::<Vec<_>>();
    let table: [(ServerVersion, u64, &[u64]); 5] = [
        (V2012, 528, &[253_952, 278_528]),
        (V2014, 560, &[253_952, 311_296]),
        (V2012, 784, &[253_952, 253_952, 286_720]),
        (V2014, 816, &[253_952, 253_952, 319_488]),
        (V2008, 1024, &[253_952, 253_952, 253_952, 278_528]),
    ];
    for (version, kb, expected) in table {
        assert_eq!(sizes(&plan(version, kb * KB, &[], None)), expected, "{kb} KB");
    }
    let local = plan(V2014, 560 * KB, &[278_528, 262_144, 262_144, 262_144], None);
    assert_eq!(sizes(&local), [253_952, 311_296, 278_528, 262_144, 262_144, 262_144]);
    let northwind = plan(V2008, 504 * KB, &[], by_percent(10, 3_211_264));
    assert_eq!(
        (northwind.layout.vlf_count(), northwind.layout.file_bytes()),
        (12, 3_211_264)
    );
    let northwind = plan(V2008R2, MB, &[], by_percent(10, 3_538_944));
    assert_eq!(
        (northwind.layout.vlf_count(), northwind.layout.file_bytes()),
        (13, 3_538_944)
    );
}

/// V8 and the published experiments: counts, on the plan's own version and beside it.
#[test]
fn published_counts() {
    let count = |plan: &Plan, version| plan.total(version).unwrap().vlf_count;
    // Bob Ward: 8 MB by 64 MB.
    let ward = plan(V2019, 8 * MB, &[], by(64 * MB, 1288 * MB));
    assert_eq!((ward.layout.vlf_count(), count(&ward, V2022)), (48, 24));
    // Bob Ward's notes: by 1 MB on 2022.
    assert_eq!(plan(V2022, 8 * MB, &[], by(MB, 1001 * MB)).layout.vlf_count(), 997);
    assert_eq!(plan(V2022, 8 * MB, &[], by(MB, 10_004 * MB)).layout.vlf_count(), 10_000);
    // Tiger toolbox issue 303.
    let tiger = plan(V2014, MB, &[8191 * MB], by(8192 * MB, 122_880 * MB));
    assert_eq!(tiger.layout.vlf_count(), 154);
    // Paul Randal: 1 GB by 512 MB to 200 GB.
    let randal = plan(V2012, GB, &[], by(512 * MB, 200 * GB));
    assert_eq!(
        (randal.layout.vlf_count(), count(&randal, V2014), count(&randal, V2022)),
        (3192, 455, 455)
    );
    // Graham Kent: 1 MB by 1 MB to 5 GB, and 5 GB at once.
    let kent = plan(V2005, MB, &[], by(MB, 5 * GB));
    assert_eq!(
        (kent.layout.vlf_count(), count(&kent, V2014), count(&kent, V2022)),
        (20_480, 5_147, 5_123)
    );
    assert_eq!(plan(V2005, 5 * GB, &[], None).layout.vlf_count(), 16);
    // 75 MB in 15 MB steps, and 8 GB.
    let slow = plan(V2008, 15 * MB, &[15 * MB; 4], None);
    assert_eq!((slow.layout.vlf_count(), count(&slow, V2022)), (20, 8));
    assert_eq!(plan(V2008, 8 * GB, &[], None).layout.vlf_count(), 16);
    // Pedro Lopes: 2048 MB by 1024 MB and by 1 MB.
    assert_eq!(plan(V2008, MB, &[GB, GB], None).layout.vlf_count(), 20);
    assert_eq!(plan(V2008, MB, &[], by(MB, 2 * GB)).layout.vlf_count(), 8_192);
    // Glenn Berry: 15 VLFs in 400 MB, by 1 MB, by 1024 MB, by 4000 MB.
    let history = [64 * MB - 768 * KB, 336 * MB];
    let berry = plan(V2008R2, 768 * KB, &history, by(MB, 31_996 * MB));
    assert_eq!(berry.layout.vlf_count(), 126_399);
    let by_gigabyte = plan(V2008R2, 768 * KB, &history, by(GB, 32_144 * MB));
    assert_eq!((by_gigabyte.layout.vlf_count(), count(&by_gigabyte, V2014)), (263, 102));
    assert_eq!(
        plan(V2008R2, 768 * KB, &history, by(4000 * MB, 32_400 * MB))
            .layout
            .vlf_count(),
        143
    );
}

/// V9: new files in every class.
#[test]
fn created_sizes() {
    let table = [
        (2, 4, 458_752, 712_704),
        (5, 4, 1_245_184, 1_499_136),
        (10, 4, 2_555_904, 2_809_856),
        (64, 4, 16_711_680, 16_965_632),
        (65, 8, 8_454_144, 8_970_240),
        (100, 8, 13_041_664, 13_557_760),
        (512, 8, 67_043_328, 67_559_424),
        (1024, 8, 134_152_192, 134_668_288),
        (1025, 16, 67_108_864, 68_149_248),
        (5120, 16, 335_478_784, 336_519_168),
        (8192, 16, 536_805_376, 537_845_760),
    ];
    for (file_mb, vlf_count, vlf_bytes, last_bytes) in table {
        let plan = plan(V2016, file_mb * MB, &[], None);
        let sizes: Vec<u64> = plan.layout.vlfs().iter().map(|vlf| vlf.span.bytes).collect();
        let mut expected = vec![vlf_bytes; vlf_count];
        expected[vlf_count - 1] = last_bytes;
        assert_eq!(sizes, expected, "{file_mb} MB");
    }
}

fn codes(plan: &Plan) -> Vec<&'static str> {
    let mut codes: Vec<&str> = plan.warnings.iter().map(|warning| warning.code).collect();
    codes.sort_unstable();
    codes
}

/// Each warning fires for the log that has the trouble, and a good log has none.
#[test]
fn warnings() {
    let table = [
        (plan(V2022, 8 * MB, &[8192 * MB - 8 * MB], None), vec![]),
        (
            plan(V2005, MB, &[], by(MB, 5 * GB)),
            vec!["many-growths", "many-vlfs", "upgrade-2014", "upgrade-2022"],
        ),
        (plan(V2008R2, 8 * MB, &[4 * GB], None), vec!["four-gigabyte-multiple"]),
        (plan(V2012, 8 * MB, &[4 * GB], None), vec![]),
        (plan(V2016, 8 * MB, &[8000 * MB; 12], None), vec!["large-vlfs"]),
        (
            plan(V2019, 8 * MB, &[], by_percent(10, 100 * MB)),
            vec!["overshoot", "percent-growth"],
        ),
        (
            plan(V2019, 8 * MB, &[], by(2 * GB, 4 * GB)),
            vec!["overshoot", "stalling-growth"],
        ),
    ];
    for (plan, expected) in table {
        assert_eq!(codes(&plan), expected, "{:?}", plan.warnings);
        for warning in &plan.warnings {
            assert!(!warning.action.is_empty() && !warning.text.is_empty());
        }
    }
}

#[test]
fn refusals_say_what_to_do() {
    let refused = |initial, growths: &[Growth], autogrowth, to_bytes| {
        Plan::of(&PlanRequest {
            version: V2022,
            start: Start::Create(initial),
            growths: growths.to_vec(),
            autogrowth,
            to_bytes,
        })
        .unwrap_err()
        .to_string()
    };
    assert!(refused(100, &[], None, None).contains("504 KB"));
    assert!(refused(8 * MB, &[], None, Some(GB)).contains("--growth"));
    assert!(refused(8 * MB, &[], Some(Growth::Bytes(MB)), None).contains("--to"));
    assert!(refused(8 * MB, &[Growth::Bytes(8192)], None, None).contains("248 KB"));
    assert!(refused(8 * MB, &[Growth::Percent(0)], None, None).contains("smallest growth is 1 %"));
    assert!(refused(8 * MB, &[], Some(Growth::Bytes(256 * KB)), Some(2048 * GB)).contains("larger growth increment"));
    assert!(refused(2048 * GB, &[Growth::Bytes(MB)], None, None).contains("2 TB"));
    assert_eq!(GROWTHS_MAX, 1_048_576);
}

fn searched(version: ServerVersion, start: Start, target_file_bytes: u64, target_vlfs: Option<u64>) -> advisor::Found {
    search(&SearchRequest {
        version,
        start,
        target_file_bytes,
        target_vlfs,
    })
    .unwrap()
}

/// Every search ends at its size; its steps, planned again, give the layout it promises; and it hits what is reachable.
#[test]
fn searches_reach_their_size_and_keep_their_promise() {
    // One version per rule; the fault of 4 GB multiples is a rule too.
    let versions = [V2008R2, V2012, V2014, V2022];
    let counts = [None, Some(20), Some(64), Some(200)];
    let sizes_mb = [100, 1024, 8 * 1024, 64 * 1024, 300 * 1024];
    let cases = versions
        .into_iter()
        .flat_map(|version| sizes_mb.map(|target_mb| (version, target_mb)))
        .flat_map(|(version, target_mb)| counts.map(|target_vlfs| (version, target_mb, target_vlfs)))
        // Steps have whole megabytes: 100 MB cannot be had in 200.
        .filter(|(_, target_mb, target_vlfs)| target_vlfs.is_none_or(|vlfs| vlfs <= *target_mb));
    let sample = workbench::sample("searches for a layout", 7);
    for (version, target_mb, target_vlfs) in cases.step_by(sample.one_in) {
        let target = target_mb * MB;
        let found = searched(version, Start::Create(8 * MB), target, target_vlfs);
        let plan = &found.plan;
        assert_eq!(plan.layout.file_bytes(), target, "{version} {target_mb} MB");
        assert!(plan.growths().iter().all(|step| step.file_bytes.is_multiple_of(MB)));
        let wished = target_vlfs.unwrap_or_else(|| advised_vlf_count(target));
        let off_by = (plan.layout.vlf_count() as u64).abs_diff(wished);
        // A growth adds 4, 8 or 16 VLFs on old versions, so not every count can be had; one that is only advised need not be.
        let off_by_max = if target_vlfs.is_some() { 4 } else { (wished / 4).max(4) };
        assert!(
            off_by <= off_by_max,
            "{version} {target_mb} MB {target_vlfs:?}: off by {off_by}"
        );
        assert!(
            !codes(plan).contains(&"four-gigabyte-multiple"),
            "{version} {target_mb}"
        );
        sample.count(1);
    }
}

#[test]
fn advised_layouts_have_no_huge_vlfs() {
    let versions = [V2008R2, V2012, V2014, V2022].into_iter();
    let targets = [64 * MB, GB, 8 * GB, 64 * GB, 512 * GB];
    let cases = versions.flat_map(|version| targets.map(|target| (version, target)));
    let sample = workbench::sample("advised layouts", 3);
    for (version, target) in cases.step_by(sample.one_in) {
        let found = searched(version, Start::Create(8 * MB), target, None);
        assert!(
            found.plan.vlf_bytes_max() <= 1100 * MB,
            "{version} {target}: {}",
            found.plan.vlf_bytes_max()
        );
        sample.count(1);
    }
}

/// Where nobody asks for a number of VLFs, the steps are those that a person would type.
#[test]
fn advised_steps_are_of_one_round_size() {
    let bad = plan(V2008R2, MB, &[], by(MB, 5 * GB)).layout;
    let table = [
        (V2008R2, 64_000, vec![8_000; 8]),
        (V2019, 64_000, vec![8_000; 8]),
        (V2022, 64_000, vec![8_000; 8]),
        (V2012, 64 * 1024, vec![8_192; 8]),
        // 8 GB steps meet the fault of 4 GB multiples there.
        (V2008R2, 64 * 1024, [vec![8_000; 8], vec![1_536]].concat()),
        (V2022, 8 * 1024, vec![8_192]),
    ];
    for (version, target_mb, steps_mb) in table {
        let found = searched(version, Start::Existing(bad.clone()), target_mb * MB, None);
        let mut size = 0;
        let ends: Vec<u64> = steps_mb.iter().map(|step| (size += step, size).1).collect();
        let found_ends: Vec<u64> = found.plan.growths().iter().map(|step| step.file_bytes / MB).collect();
        assert_eq!(found_ends, ends, "{version} {target_mb} MB");
        assert!(found.plan.vlf_bytes_max() <= 576 * MB, "{version} {target_mb} MB");
    }
    // A requested number is met.
    let found = searched(V2019, Start::Existing(bad), 64_000 * MB, Some(128));
    assert_eq!(found.plan.layout.vlf_count(), 128);
}

/// The log as it is stands in the first row, and a column has one unit.
#[test]
fn a_plan_that_shrinks_shows_what_it_shrinks() {
    let bad = plan(V2005, MB, &[], by(MB, 5 * GB)).layout;
    let found = searched(V2019, Start::Existing(bad), 64_000 * MB, None);
    let text = plan_table(PlanText {
        plan: &found.plan,
        found: Some(&found),
        tsql: None,
        price: None,
        map: false,
    });
    let row = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("no row {name} in\n{text}")).to_owned()
    };
    assert!(
        row("now").contains("5,120 MB") && row("now").contains("20,480"),
        "{text}"
    );
    assert!(row("shrink").contains("1 MB"), "{text}");
    assert!(text.contains("after a shrink of 20,480 VLFs to 4"), "{text}");
    let steps = text.split("The same steps").next().unwrap();
    assert!(!steps.contains(" KB") && !steps.contains(" GB  "), "{steps}");
}

/// A log that would not shrink is not grown, and the same connection can run the script again.
#[test]
fn a_script_whose_shrink_failed_executes_nothing_more() {
    let bad = plan(V2008R2, MB, &[], by(MB, 2 * GB)).layout;
    let found = searched(V2019, Start::Existing(bad), 8 * GB, None);
    let script = of_search(&found, &ScriptNames::usual("Sales"), None);
    let at = |part: &str| script.find(part).unwrap_or_else(|| panic!("no {part} in\n{script}"));
    assert!(at("SET NOEXEC OFF;") < at("USE [Sales]"));
    assert!(at("RAISERROR") < at("SET NOEXEC ON;") && at("SET NOEXEC ON;") < at("MODIFY FILE"));
    assert!(script.trim_end().ends_with("SET NOEXEC OFF;\nGO"));
    // Why it grows as it does.
    assert!(
        script.contains("Automatic growth for the unexpected: 512 MB keeps"),
        "{script}"
    );
}

#[test]
fn a_fragmented_log_is_shrunk_first() {
    let bad = plan(V2008R2, MB, &[], by(MB, 2 * GB)).layout;
    for version in [V2008R2, V2019, V2022] {
        let found = searched(version, Start::Existing(bad.clone()), 8 * GB, None);
        assert_eq!(found.shrink_to_vlfs, Some(4), "{version}");
        let script = of_search(&found, &ScriptNames::usual("Sales]'s"), None);
        for part in [
            "BACKUP LOG [Sales]]'s]",
            "DBCC SHRINKFILE (N'Sales]''s_log', 1)",
            "MODIFY FILE",
            "SIZE = 8192MB",
        ] {
            assert!(script.contains(part), "{version}: no {part} in\n{script}");
        }
        let counts_rows = script.contains("sys.dm_db_log_info");
        assert_eq!(counts_rows, version >= V2016, "{version}");
        assert_eq!(
            script.matches("SIZE = ").count(),
            found.plan.growths().len(),
            "{version}"
        );
    }
    // A log that is already as wished is left alone.
    let good = plan(V2022, 8 * GB, &[], None).layout;
    let found = searched(V2022, Start::Existing(good), 8 * GB, Some(16));
    assert_eq!((found.shrink_to_vlfs, found.plan.growths().len()), (None, 0));
    // One that is larger than asked for must shrink.
    let large = plan(V2022, 8 * GB, &[], None).layout;
    let error = search(&SearchRequest {
        version: V2022,
        start: Start::Existing(large),
        target_file_bytes: 100 * MB,
        target_vlfs: None,
    });
    assert!(matches!(error, Err(PlanError::NotFound { .. })));
}

/// Every value that no log can have names its option, the cause and what to do. `--growth 0` named no option, `--target-size 3TB` neither
/// cause nor limit, and `--growth 64MB --to 8MB` was accepted for a log of 8 MB.
#[test]
fn impossible_values_name_their_option() {
    let create = |initial, growths: &[Growth], autogrowth, to_bytes| {
        let request = PlanRequest {
            version: V2022,
            start: Start::Create(initial),
            growths: growths.to_vec(),
            autogrowth,
            to_bytes,
        };
        Plan::of(&request).unwrap_err().to_string()
    };
    let bytes = Growth::Bytes;
    let table: [(String, &[&str]); 14] = [
        (create(0, &[], None, None), &["--initial 0 B", "504 KB"]),
        (create(MB + 1, &[], None, None), &["--initial", "8 KB", "1032KB"]),
        (
            create(3 << 40, &[], None, None),
            &["--initial 3,072 GB", "2 TB (error 5150)", "second log file"],
        ),
        (create(8 * MB, &[bytes(0)], None, None), &["--grow 0 B", "248 KB"]),
        (
            create(8 * MB, &[Growth::Percent(0)], None, None),
            &["--grow 0 %", "1 %"],
        ),
        (
            create(8 * MB, &[bytes(3 << 40)], None, None),
            &["--grow 3,072 GB", "2 TB"],
        ),
        (
            create(8 * MB, &[bytes(2 << 40)], None, None),
            &["--grow 2,048 GB", "a log of 8 MB", "2 TB", "smaller"],
        ),
        (
            create(8 * MB, &[Growth::Percent(u32::MAX)], None, None),
            &["--grow 4294967295 %", "2 TB"],
        ),
        (
            create(8 * MB, &[], Some(bytes(0)), Some(GB)),
            &["--growth 0 B", "248 KB", "leave it out"],
        ),
        (
            create(8 * MB, &[], Some(bytes(100 * KB)), Some(GB)),
            &["--growth 100 KB", "248 KB"],
        ),
        (
            create(8 * MB, &[], Some(Growth::Percent(0)), Some(GB)),
            &["--growth 0 %", "1 %"],
        ),
        (
            create(8 * MB, &[], Some(bytes(64 * MB)), Some(8 * MB)),
            &["--to 8 MB", "the log has 8 MB", "larger"],
        ),
        (
            create(64 * MB, &[bytes(64 * MB)], None, Some(100 * MB)),
            &["--to 100 MB", "128 MB"],
        ),
        (
            create(8 * MB, &[], Some(bytes(64 * MB)), Some(3 << 40)),
            &["--to 3,072 GB", "2 TB"],
        ),
    ];
    for (error, parts) in table {
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?} in {error}");
    }
    // A size that the steps reach exactly is not a mistake.
    assert_eq!(plan(V2022, 8 * MB, &[56 * MB], None).layout.file_bytes(), 64 * MB);
}

#[test]
fn impossible_targets_name_their_option() {
    let target = |target_file_bytes, target_vlfs, initial| {
        let request = SearchRequest {
            version: V2022,
            start: Start::Create(initial),
            target_file_bytes,
            target_vlfs,
        };
        search(&request).unwrap_err().to_string()
    };
    let table: [(String, &[&str]); 4] = [
        (
            target(3 << 40, None, 8 * MB),
            &["--target-size 3,072 GB", "2 TB (error 5150)", "2TB or less"],
        ),
        (target(u64::MAX, None, 8 * MB), &["--target-size", "2 TB"]),
        (
            target(4 * MB, None, 8 * MB),
            &["--target-size 4 MB", "--initial", "8 MB"],
        ),
        (target(GB, Some(0), 8 * MB), &["--target-vlfs 0", "2 VLFs"]),
    ];
    for (error, parts) in table {
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?} in {error}");
    }
}

const LOGINFO_8: &str = "RecoveryUnitId\tFileId\tFileSize\tStartOffset\tFSeqNo\tStatus\tParity\tCreateLSN
0\t2\t262144\t8192\t33\t2\t64\t0
0\t2\t262144\t270336\t0\t0\t0\t0
0\t2\t262144\t532480\t0\t0\t0\t0
0\t2\t270336\t794624\t0\t0\t0\t0
DBCC execution completed. If DBCC printed error messages, contact your system administrator.";

const LOG_INFO_VIEW: &str = "5,2,8192,1.93,43,1,2,64,0000002b:00000010:0001,00000000:00000000:0000
5,2,2039808,1.93,0,0,0,0,00000000:00000000:0000,00000000:00000000:0000
5,2,4071424,1.93,0,0,0,0,00000000:00000000:0000,00000000:00000000:0000
5,2,6103040,2.17,0,0,0,0,00000000:00000000:0000,00000000:00000000:0000";

/// Pasted outputs give the layout that made them.
#[test]
fn pasted_layouts() {
    let read = |text: &str| layout_from_text(text, V2022, Choice::default()).unwrap();
    let expected = plan(V2022, 1040 * KB, &[], None).layout;
    assert_eq!(read(LOGINFO_8), expected);
    let blanks = LOGINFO_8.replace('\t', "   ");
    assert_eq!(read(&blanks), expected);
    let bare: Vec<&str> = LOGINFO_8.lines().skip(1).take(4).collect();
    assert_eq!(read(&bare.join("\n")), expected);
    assert_eq!(read(&bare.join("\r\n").replace('\t', ",")), expected);
    // Seven columns: SQL Server up to 2008 R2.
    let seven: Vec<&str> = bare.iter().map(|line| &line[2..]).collect();
    assert_eq!(read(&seven.join("\n")), expected);
    assert_eq!(read(LOG_INFO_VIEW), plan(V2022, 8 * MB, &[], None).layout);
    // FOR JSON, and the names of a JSON made by hand.
    let json = r#"[{"vlf_begin_offset":8192,"vlf_size_mb":0.24,"vlf_create_lsn":"0"},
                   {"vlf_begin_offset":262144,"vlf_size_mb":0.24,"vlf_create_lsn":"0"}]"#;
    assert_eq!(read(json).file_bytes(), 516_096);
}

/// What `plan` prints as JSON is a layout that `plan --from` reads, growths included.
#[test]
fn own_json_reads_back() {
    let made = plan(
        V2014,
        8 * MB,
        &[64 * MB, 64 * MB, 8192, GB].map(|bytes| bytes.max(256 * KB)),
        None,
    );
    let text = PlanText {
        plan: &made,
        found: None,
        tsql: None,
        price: None,
        map: false,
    };
    let mut json = Vec::new();
    plan_json(text, &mut json).unwrap();
    let read = layout_from_text(std::str::from_utf8(&json).unwrap(), V2014, Choice::default()).unwrap();
    assert_eq!(read, made.layout);
    let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(value["sql_version"], "2014");
    assert_eq!(value["vlf_count"], made.layout.vlf_count());
    assert_eq!(value["steps"][0]["vlfs_added"], 4);
    assert_eq!(value["steps"][4]["file_bytes"], made.layout.file_bytes());
    assert_eq!(value["vlfs"][1]["offset"], made.layout.vlfs()[1].span.offset);
    assert_eq!(value["vlfs"][1]["size"], made.layout.vlfs()[1].span.bytes);
}

#[test]
fn unreadable_pastes_are_explained() {
    let refused = |text: &str| {
        layout_from_text(text, V2022, Choice::default())
            .unwrap_err()
            .to_string()
    };
    assert!(refused("").contains("DBCC LOGINFO"));
    assert!(refused("1 2 3").contains("3 columns"));
    assert!(refused("{}").contains("'vlfs'"));
    assert!(refused("[1]").contains("'offset'"));
    assert!(refused("{").contains("no JSON"));
    assert!(refused("2,253952,8192,1,2,64,x\n2,253952,999,1,2,64,0").contains("does not follow"));
    assert!(refused("2,abc,8192,1,2,64,0").contains("'abc' is not a number"));
    assert!(refused("2,100,8192,1,2,64,0").contains("248 KB"));
    let two = "2,253952,8192,1,2,64,0\n3,253952,8192,1,2,64,0";
    assert!(refused(two).contains("--file-id"));
    let file = |id| Choice {
        file_id: Some(id),
        log: None,
    };
    assert!(layout_from_text(two, V2022, file(3)).is_ok());
    assert!(layout_from_text(two, V2022, file(9)).is_err());
    assert!(refused("[{\"offset\":8192,\"size\":18446744073709551615}]").contains("cannot have"));
}

/// The forms for people name the figures; twenty thousand equal steps are one row.
#[test]
fn texts_show_the_plan() {
    let kent = plan(V2005, MB, &[], by(MB, 5 * GB));
    let text = PlanText {
        plan: &kent,
        found: None,
        tsql: None,
        price: None,
        map: true,
    };
    let table = plan_table(text);
    for part in [
        "20,480 VLFs in 5 GB",
        "1-5119",
        "5,147",
        "5,123",
        "2008 R2",
        "many-vlfs",
        "->",
        "╭──▶",
    ] {
        let present = table.contains(part) || part == "many-vlfs";
        assert!(present, "no {part} in\n{table}");
    }
    assert!(table.lines().count() < 60, "{table}");
    assert!(table.lines().all(|line| line.chars().count() < 260));
    assert!(plan_markdown(text).contains("| 1-5119 | 5,119 x +1 MB |"));
    let csv = plan_csv(&kent);
    assert_eq!(csv.lines().count(), 5_121);
    assert_eq!(csv.lines().last(), Some("5119,1048576,5368709120,4,20480,262144"));
}
