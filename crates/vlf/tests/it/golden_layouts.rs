//! The growth rules of every version against published figures and the layouts of real files. The figures are written out
//! here; none is computed from the rules under test.
#![allow(clippy::unwrap_used)]

use crate::support::layouts;

use vlf::growth::{ChunkPlan, VlfSpan, count_of_equal_growths, create_layout, create_plan, grow_plan};
use vlf::{LogLayout, ServerVersion, percent_growth};

use ServerVersion::{V2005, V2008, V2008R2, V2012, V2014, V2016, V2017, V2019, V2022, V2025};

const KB: u64 = 1024;
const MB: u64 = 1024 * KB;

fn sizes(layout: &LogLayout) -> Vec<u64> {
    layout.vlfs().iter().map(|vlf| vlf.span.bytes).collect()
}

fn created(file_bytes: u64) -> Vec<u64> {
    create_layout(V2012, file_bytes)
        .unwrap()
        .iter()
        .map(|span| span.bytes)
        .collect()
}

/// Paul Randal, "Initial VLF sequence numbers and default log file size": SQL Server 2005/2008 defaults.
#[test]
fn v1_default_log_of_2005_and_the_model_log() {
    for version in [V2005, V2008] {
        let spans = create_layout(version, 504 * KB).unwrap();
        assert_eq!(
            spans,
            [
                VlfSpan {
                    offset: 8192,
                    bytes: 253_952
                },
                VlfSpan {
                    offset: 262_144,
                    bytes: 253_952
                }
            ]
        );
    }
    assert_eq!(created(512 * KB), [253_952, 262_144]);
}

/// "Exploring the SQL Server log with DBCC LOGINFO", SQL Server 2012, 1040 KB.
#[test]
fn v2_1040_kb() {
    let spans = create_layout(V2012, 1040 * KB).unwrap();
    let offsets: Vec<u64> = spans.iter().map(|span| span.offset).collect();
    assert_eq!(offsets, [8192, 270_336, 532_480, 794_624]);
    assert_eq!(created(1040 * KB), [262_144, 262_144, 262_144, 270_336]);
}

/// Database Journal, "Retrieving the transaction log information", SQL Server 2000, 768 KB.
#[test]
fn v3_768_kb() {
    assert_eq!(created(768 * KB), [253_952, 253_952, 270_336]);
}

/// Remus Rusanu, "What is an LSN": a 504 KB log that grew by 10 percent to 59 VLFs.
#[test]
fn v4_ten_percent_to_59_vlfs() {
    let mut layout = LogLayout::create(V2008R2, 504 * KB).unwrap();
    while layout.file_bytes() < 18_677_760 {
        layout.grow_percent(10).unwrap();
    }
    assert_eq!(layout.file_bytes(), 18_677_760);
    let rows = layout.vlfs();
    assert_eq!(rows.len(), 59);
    let row = |index: usize| (rows[index].span.bytes, rows[index].span.offset);
    assert_eq!(row(0), (253_952, 8_192));
    assert_eq!(row(1), (253_952, 262_144));
    assert_eq!(row(2), (270_336, 516_096));
    assert_eq!(row(3), (262_144, 786_432));
    assert_eq!(row(4), (262_144, 1_048_576));
    assert_eq!(row(55), (393_216, 16_973_824));
    assert_eq!(row(56), (393_216, 17_367_040));
    assert_eq!(row(57), (393_216, 17_760_256));
    assert_eq!(row(58), (524_288, 18_153_472));
    assert_eq!(rows[54].growth_step + 1, rows[55].growth_step);
    assert!(rows[55..].iter().all(|vlf| vlf.growth_step == rows[58].growth_step));
}

/// A second percentage: SQL Server 2012, 1 MB by 10 percent, 47 VLFs when the file passes 13 MB.
#[test]
fn v4b_ten_percent_to_47_vlfs() {
    let mut layout = LogLayout::create(V2012, MB).unwrap();
    while layout.vlf_count() < 47 {
        layout.grow_percent(10).unwrap();
    }
    assert_eq!(layout.vlf_count(), 47);
    let file_mb = layout.file_bytes() as f64 / MB as f64;
    assert!((13.30..13.32).contains(&file_mb), "{file_mb}");
}

/// Remus Rusanu, "How to shrink the SQL Server log": 13 VLFs, 3,604,480 bytes; growths as its create LSNs group them.
#[test]
fn v5_thirteen_vlfs() {
    let mut layout = LogLayout::create(V2012, 528 * KB).unwrap();
    for growth in [311_296].into_iter().chain([262_144; 8]).chain([327_680; 2]) {
        layout.grow(growth).unwrap();
    }
    assert_eq!(layout.file_bytes(), 3_604_480);
    let offsets: Vec<u64> = layout.vlfs().iter().map(|vlf| vlf.span.offset).collect();
    assert_eq!(
        offsets,
        [
            8_192, 262_144, 540_672, 851_968, 1_114_112, 1_376_256, 1_638_400, 1_900_544, 2_162_688, 2_424_832,
            2_686_976, 2_949_120, 3_276_800
        ]
    );
    // The same by the percentage rule: 10 percent each time.
    let mut by_percent = LogLayout::create(V2012, 528 * KB).unwrap();
    while by_percent.file_bytes() < 3_604_480 {
        by_percent.grow_percent(10).unwrap();
    }
    assert_eq!(sizes(&by_percent), sizes(&layout));
}

/// Bob Ward's demo: 8 MB on SQL Server 2022. An error log of 2020 names the same border, 0x1f2000.
#[test]
fn v6_default_log_since_2016() {
    for version in [V2016, V2019, V2022, V2025] {
        let spans = create_layout(version, 8 * MB).unwrap();
        let offsets: Vec<u64> = spans.iter().map(|span| span.offset).collect();
        assert_eq!(offsets, [8_192, 2_039_808, 4_071_424, 6_103_040]);
        assert_eq!(spans[0].end(), 0x1f_2000);
        assert_eq!(spans[3].bytes, 2_285_568);
    }
}

/// Real files: creation, then their growths.
#[test]
fn v7_small_real_logs() {
    assert_eq!(created(528 * KB), [253_952, 278_528]);
    assert_eq!(created(560 * KB), [253_952, 311_296]);
    assert_eq!(created(784 * KB), [253_952, 253_952, 286_720]);
    assert_eq!(created(816 * KB), [253_952, 253_952, 319_488]);
    assert_eq!(created(1024 * KB), [253_952, 253_952, 253_952, 278_528]);

    let mut local = LogLayout::create(V2014, 560 * KB).unwrap();
    for growth in [278_528, 262_144, 262_144, 262_144] {
        local.grow(growth).unwrap();
    }
    assert_eq!(sizes(&local), [253_952, 311_296, 278_528, 262_144, 262_144, 262_144]);

    let mut northwind = LogLayout::create(V2008, 504 * KB).unwrap();
    while northwind.vlf_count() < 12 {
        northwind.grow_percent(10).unwrap();
    }
    let expected: Vec<u64> = [253_952, 253_952, 270_336]
        .into_iter()
        .chain([262_144; 8])
        .chain([327_680])
        .collect();
    assert_eq!(sizes(&northwind), expected);
    assert_eq!(northwind.file_bytes(), 3_211_264);

    let mut northwind = LogLayout::create(V2008R2, MB).unwrap();
    while northwind.vlf_count() < 13 {
        northwind.grow_percent(10).unwrap();
    }
    let expected: Vec<u64> = [253_952, 253_952, 253_952, 278_528]
        .into_iter()
        .chain([262_144; 7])
        .chain([327_680; 2])
        .collect();
    assert_eq!(sizes(&northwind), expected);
    assert_eq!(northwind.file_bytes(), 3_538_944);

    // The same size as a fresh 1 MB log, another history.
    let mut grown = LogLayout::create(V2005, 768 * KB).unwrap();
    grown.grow(256 * KB).unwrap();
    assert_eq!(sizes(&grown), [253_952, 253_952, 270_336, 262_144]);
    assert_eq!(grown.file_bytes(), MB);
}

/// Published counts after many growths.
#[test]
fn v8_counts() {
    // Bob Ward: 8 MB log, 64 MB growths: "some 50" VLFs up to 2019, "only about 20" on 2022.
    let after = |version, start, growth, count| {
        u64::from(create_plan(version, start).unwrap().vlf_count)
            + count_of_equal_growths(version, start, growth, count).unwrap()
    };
    assert_eq!(after(V2019, 8 * MB, 64 * MB, 20), 48);
    assert_eq!(after(V2022, 8 * MB, 64 * MB, 20), 24);
    // Bob Ward's notes: 8 MB by 1 MB on 2022.
    assert_eq!(after(V2022, 8 * MB, MB, 993), 997);
    assert_eq!(after(V2022, 8 * MB, MB, 9_996), 10_000);
    // Tiger toolbox issue 303: 1 MB by 8192 MB steps to 122,880 MB.
    let mut layout = LogLayout::create(V2014, MB).unwrap();
    layout.grow(8191 * MB).unwrap();
    layout.grow_until(122_880 * MB, 8192 * MB).unwrap();
    assert_eq!(layout.vlf_count(), 154);
    // Paul Randal: 1 GB by 512 MB to 200 GB.
    assert_eq!(after(V2012, 1024 * MB, 512 * MB, 398), 3192);
    assert_eq!(after(V2014, 1024 * MB, 512 * MB, 398), 455);
    // Bob Ward: growing by 10 GB gives 16 VLFs of 640 MB.
    let plan = grow_plan(V2019, 8 * MB, 10_240 * MB).unwrap();
    assert_eq!(
        plan,
        ChunkPlan {
            vlf_count: 16,
            vlf_bytes: 640 * MB,
            last_vlf_bytes: 640 * MB
        }
    );
    // Bob Ward: growing by 1 GB gives 8 more, of 128 MB.
    let plan = grow_plan(V2019, 8 * MB, 1024 * MB).unwrap();
    assert_eq!(
        (plan.vlf_count, plan.vlf_bytes, plan.last_vlf_bytes),
        (8, 128 * MB, 128 * MB)
    );
}

/// Sizes of new files in every class: VLF count, size of all but the last, size of the last.
#[test]
fn v9_created_sizes() {
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
        (5 * 1024, 16, 335_478_784, 336_519_168),
        (8 * 1024, 16, 536_805_376, 537_845_760),
    ];
    for version in ServerVersion::ALL {
        for (file_mb, vlf_count, vlf_bytes, last_vlf_bytes) in table {
            let plan = create_plan(version, file_mb * MB).unwrap();
            assert_eq!(
                plan,
                ChunkPlan {
                    vlf_count,
                    vlf_bytes,
                    last_vlf_bytes
                },
                "{file_mb} MB, {version}"
            );
        }
    }
}

/// The experiments the lab repeats, as their authors counted.
#[test]
fn published_experiments() {
    let count = |version, start_mb, steps: &[(u64, u64)]| {
        let mut layout = LogLayout::create(version, start_mb).unwrap();
        for (target, growth) in steps {
            layout.grow_until(*target, *growth).unwrap();
        }
        layout.vlf_count()
    };
    // Graham Kent: 1 MB by 1 MB to 5 GB, against 5 GB at once.
    assert_eq!(count(V2005, MB, &[(5120 * MB, MB)]), 20_480);
    assert_eq!(count(V2014, MB, &[(5120 * MB, MB)]), 5_147);
    assert_eq!(count(V2022, MB, &[(5120 * MB, MB)]), 5_123);
    assert_eq!(count(V2005, 5120 * MB, &[]), 16);
    // 75 MB in 15 MB steps: 20 VLFs of 3.75 MB.
    assert_eq!(count(V2008, 15 * MB, &[(75 * MB, 15 * MB)]), 20);
    assert_eq!(count(V2022, 15 * MB, &[(75 * MB, 15 * MB)]), 8);
    let mut slow = LogLayout::create(V2008, 15 * MB).unwrap();
    slow.grow_until(75 * MB, 15 * MB).unwrap();
    assert_eq!(sizes(&slow)[..4], [3_866_624, 3_866_624, 3_866_624, 4_120_576]);
    assert!(sizes(&slow)[4..].iter().all(|bytes| *bytes == 3_932_160));
    // 8 GB at once: 16.
    assert_eq!(count(V2008, 8192 * MB, &[]), 16);
    // Pedro Lopes: a small log, then 2048 MB by 1024 MB (20) and by 1 MB (4 per MB).
    assert_eq!(count(V2008, MB, &[(1025 * MB, 1024 * MB), (2049 * MB, 1024 * MB)]), 20);
    assert_eq!(count(V2008, MB, &[(2048 * MB, MB)]), 8_192);
    // Glenn Berry: a 400 MB log with 15 VLFs, by 1 MB to 126,399 VLFs and 31,996 MB.
    let history = [(64 * MB, 64 * MB - 768 * KB), (400 * MB, 336 * MB)];
    assert_eq!(count(V2008R2, 768 * KB, &history), 15);
    let mut berry = LogLayout::create(V2008R2, 768 * KB).unwrap();
    for (target, growth) in history {
        berry.grow_until(target, growth).unwrap();
    }
    assert_eq!(berry.grow_until(31_996 * MB, MB), Ok(31_596));
    assert_eq!(berry.vlf_count(), 126_399);
    // The same log on later versions, and by 1024 MB and 4000 MB.
    let after = |version, growth, growths| 15 + count_of_equal_growths(version, 400 * MB, growth, growths).unwrap();
    for version in [V2014, V2016, V2017, V2019, V2022, V2025] {
        assert_eq!(after(version, MB, 31_596), 31_611, "{version}");
        assert_eq!(after(version, 1024 * MB, 31), 102, "{version}");
    }
    assert_eq!(after(V2008R2, 1024 * MB, 31), 263);
    assert_eq!(after(V2008R2, 4000 * MB, 7), 127);
    assert_eq!(after(V2008R2, 4000 * MB, 8), 143);
}

/// Every real layout: its VLFs touch, end with the file, and come out of the rules once its growths are known.
#[test]
fn rules_rebuild_every_real_layout() {
    for (name, file_bytes, _, vlfs) in layouts::REAL_FILES {
        // VLFs of one growth share a create LSN; those made with the file have none.
        let mut chunks = vlfs.chunk_by(|a, b| a.5 == b.5);
        let first: u64 = chunks.next().unwrap().iter().map(|vlf| vlf.0).sum();
        for version in [V2008R2, V2012, V2016] {
            let mut layout = LogLayout::create(version, first + 8192).unwrap();
            for growth in vlfs.chunk_by(|a, b| a.5 == b.5).skip(1) {
                layout.grow(growth.iter().map(|vlf| vlf.0).sum()).unwrap();
            }
            let spans: Vec<(u64, u64)> = layout
                .vlfs()
                .iter()
                .map(|vlf| (vlf.span.bytes, vlf.span.offset))
                .collect();
            let real: Vec<(u64, u64)> = vlfs.iter().map(|vlf| (vlf.0, vlf.1)).collect();
            assert_eq!(spans, real, "{name}, {version}");
            assert_eq!(layout.file_bytes(), file_bytes, "{name}, {version}");
        }
    }
}

/// The percentage rule against the growths of the real files that grew by 10 percent.
#[test]
fn ten_percent_of_odd_sizes() {
    let table = [
        (528, 832),
        (832, 1088),
        (1088, 1344),
        (1344, 1600),
        (2816, 3136),
        (3136, 3456),
    ];
    for (from_kb, to_kb) in table {
        assert_eq!(percent_growth(from_kb * KB, 10), Ok(to_kb * KB), "{from_kb} KB");
    }
}
