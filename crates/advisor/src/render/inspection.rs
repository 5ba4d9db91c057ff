//! An inspection as text.

use std::fmt::Write;
use std::io;

use serde::{Serialize, Serializer};
use vlf::Lsn;

use super::table::{Align, Table};
use crate::inspection::{Depth, GrowthEvent, InspectedVlf, Inspection, PageZero};
use crate::map;
use crate::size::{format_bytes, group_digits};

/// VLF rows shown before the middle is left out.
const VLF_ROWS_MAX: usize = 64;
/// Growth rows shown before the middle is left out.
const GROWTH_ROWS_MAX: usize = 40;
/// Damage rows shown for people.
const DAMAGE_ROWS_MAX: usize = 100;

/// A create LSN as `DBCC LOGINFO` shows it: `0` for VLFs made with the file.
pub(crate) fn create_lsn_text(lsn: Option<Lsn>) -> String {
    match lsn {
        None => "not known".to_owned(),
        Some(Lsn::ZERO) => "0".to_owned(),
        Some(lsn) => lsn.to_string(),
    }
}

/// The index range of rows to leave out so that `rows_max` remain.
fn middle(rows: usize, rows_max: usize) -> std::ops::Range<usize> {
    if rows <= rows_max {
        0..0
    } else {
        rows_max / 2..rows - rows_max / 2
    }
}

fn vlf_table(vlfs: &[InspectedVlf]) -> (Table, usize) {
    let mut table = Table::new(&[
        ("VLF", Align::Right),
        ("offset", Align::Right),
        ("size", Align::Right),
        ("sequence", Align::Right),
        ("parity", Align::Right),
        ("uses", Align::Right),
        ("create LSN", Align::Left),
        ("state", Align::Left),
        ("blocks", Align::Right),
        ("records", Align::Right),
    ]);
    let left_out = middle(vlfs.len(), VLF_ROWS_MAX);
    for (index, vlf) in vlfs.iter().enumerate().filter(|(index, _)| !left_out.contains(index)) {
        let header = &vlf.header;
        table.row(vec![
            (index + 1).to_string(),
            header.start_offset.to_string(),
            format_bytes(header.vlf_bytes),
            header.sequence.to_string(),
            header.parity.byte().to_string(),
            header.use_count.to_string(),
            create_lsn_text(vlf.create_lsn),
            format!("{}{}", vlf.state.word(), if vlf.damaged { ", damaged" } else { "" }),
            group_digits(vlf.blocks),
            group_digits(vlf.records),
        ]);
    }
    (table, left_out.len())
}

fn growth_table(growths: &[GrowthEvent]) -> (Table, usize) {
    let mut table = Table::new(&[
        ("growth", Align::Left),
        ("added", Align::Right),
        ("log size", Align::Right),
        ("VLFs", Align::Right),
        ("create LSN", Align::Left),
        ("as made by SQL Server", Align::Left),
    ]);
    let left_out = middle(growths.len(), GROWTH_ROWS_MAX);
    for (index, event) in growths
        .iter()
        .enumerate()
        .filter(|(index, _)| !left_out.contains(index))
    {
        table.row(vec![
            if event.file_bytes_before == 0 {
                "created".to_owned()
            } else {
                index.to_string()
            },
            format_bytes(event.growth_bytes()),
            format_bytes(event.file_bytes_after),
            group_digits(event.vlf_count as u64),
            create_lsn_text(event.create_lsn),
            versions_text(event),
        ]);
    }
    (table, left_out.len())
}

/// The versions as a range where they are one.
pub(crate) fn versions_text(event: &GrowthEvent) -> String {
    let versions = &event.versions;
    match (versions.first(), versions.last()) {
        (Some(first), Some(last)) if first == last => first.to_string(),
        (Some(_), Some(_)) if versions.len() == vlf::ServerVersion::ALL.len() => "any".to_owned(),
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => "none as a whole (cut by a shrink, or several growths)".to_owned(),
    }
}

fn kinds_table(inspection: &Inspection) -> Table {
    let mut table = Table::new(&[
        ("record", Align::Left),
        ("count", Align::Right),
        ("bytes", Align::Right),
    ]);
    for kind in &inspection.records_by_kind {
        table.row(vec![
            kind.operation.clone(),
            group_digits(kind.count),
            group_digits(kind.bytes),
        ]);
    }
    table
}

fn damage_table(inspection: &Inspection) -> Table {
    let mut table = Table::new(&[("offset", Align::Right), ("bytes", Align::Right), ("what", Align::Left)]);
    for damage in inspection.damage.iter().take(DAMAGE_ROWS_MAX) {
        table.row(vec![
            damage.offset.to_string(),
            damage.bytes.to_string(),
            damage.what.clone(),
        ]);
    }
    table
}

/// What page 0 is, in words.
pub(crate) fn page_zero_text(page: &PageZero) -> String {
    match page {
        PageZero::SqlServer => "SQL Server's file header page".to_owned(),
        PageZero::Vlflab(header) => format!(
            "vlflab's, file {}, growth rules of SQL Server {}, sectors of {} bytes, generation {}{}",
            header.file_id,
            header.server_version,
            header.sector_bytes,
            header.generation,
            match header.headers_when_entered {
                true => ", headers of VLFs when entered",
                false => "",
            }
        ),
        PageZero::Damaged(fault) => format!("damaged: {fault}"),
    }
}

/// The facts on top, as name and value.
pub fn inspection_facts(inspection: &Inspection) -> Vec<(&'static str, String)> {
    let format = inspection
        .format
        .map_or_else(|| "none, no VLF was found".to_owned(), |format| format.to_string());
    let mut facts = vec![
        (
            "size",
            format!(
                "{} ({} bytes)",
                format_bytes(inspection.file_bytes),
                group_digits(inspection.file_bytes)
            ),
        ),
        ("file header", page_zero_text(&inspection.page_zero)),
        ("VLF format", format),
        ("VLFs", group_digits(inspection.vlfs.len() as u64)),
    ];
    if let Some(tail) = inspection.tail() {
        facts.push((
            "highest sequence",
            format!("{} at offset {}", tail.header.sequence, tail.header.start_offset),
        ));
    }
    if inspection.depth == Depth::Headers {
        facts.push(("blocks", "not read".to_owned()));
    } else {
        facts.extend(block_facts(inspection));
    }
    let damage = match inspection.damage_count {
        0 => "none found".to_owned(),
        1 => "1 place".to_owned(),
        count => format!("{} places", group_digits(count)),
    };
    facts.push(("damage", damage));
    facts
}

/// Which servers wrote the blocks, and how many each.
fn block_formats_text(inspection: &Inspection) -> String {
    let formats = inspection.block_formats.iter().map(|(number, blocks)| {
        let vlf_format = inspection.format.unwrap_or(vlf::FormatVersion::SqlServer2012);
        let writers = vlf_format
            .of_block(*number)
            .map_or("unknown", vlf::FormatVersion::block_writers);
        format!("{number} ({writers}): {}", group_digits(*blocks))
    });
    formats.collect::<Vec<_>>().join(", ")
}

fn block_facts(inspection: &Inspection) -> Vec<(&'static str, String)> {
    let blocks = &inspection.blocks;
    if blocks.total == 0 {
        return vec![("blocks", "none found".to_owned())];
    }
    let mut facts = vec![(
        "blocks",
        format!(
            "{} ({} to {}; {} without records), {} sector stamps and {} checksums right",
            group_digits(blocks.total),
            format_bytes(blocks.block_bytes_min),
            format_bytes(blocks.block_bytes_max),
            group_digits(blocks.fillers),
            group_digits(blocks.sectors),
            group_digits(blocks.with_checksum)
        ),
    )];
    facts.push(("block formats", block_formats_text(inspection)));
    facts.push(("records", group_digits(inspection.records)));
    match inspection.log_end {
        Some(end) => facts.push((
            "end of log",
            format!("offset {}, last record {}", end.offset, end.last_record),
        )),
        None => facts.push(("end of log", "no log block was found".to_owned())),
    }
    if let Some(linked) = inspection.linked {
        facts.push((
            "linked blocks",
            format!(
                "{} to {}: {} in {} VLFs",
                linked.first,
                linked.last,
                format_bytes(linked.block_bytes),
                group_digits(linked.vlf_count as u64)
            ),
        ));
    }
    if let Some(checkpoint) = inspection.last_checkpoint {
        facts.push(("last checkpoint", format!("begun at {checkpoint}")));
    }
    facts
}

struct Section {
    title: &'static str,
    table: Table,
    left_out: usize,
}

fn sections(inspection: &Inspection) -> Vec<Section> {
    let (vlfs, vlfs_left_out) = vlf_table(&inspection.vlfs);
    let (growths, growths_left_out) = growth_table(&inspection.growths);
    let section = |title, table, left_out| Section { title, table, left_out };
    let mut sections = vec![
        section("VLFs", vlfs, vlfs_left_out),
        section("Growth history", growths, growths_left_out),
    ];
    if !inspection.records_by_kind.is_empty() {
        sections.push(section("Records", kinds_table(inspection), 0));
    }
    if inspection.damage_count > 0 {
        let left_out = usize::try_from(inspection.damage_count)
            .unwrap_or(usize::MAX)
            .saturating_sub(DAMAGE_ROWS_MAX);
        sections.push(section("Damage", damage_table(inspection), left_out));
    }
    sections
}

/// For a terminal; `name` is the file's.
pub fn inspection_table(inspection: &Inspection, name: &str, map: bool) -> String {
    let mut out = format!("{name}\n");
    for (label, value) in inspection_facts(inspection) {
        let _ = writeln!(out, "  {label:<16}  {value}");
    }
    if map {
        let _ = write!(out, "\nThe ring of VLFs\n{}", map::of_inspection(inspection));
    }
    for section in sections(inspection) {
        let _ = write!(out, "\n{}\n{}", section.title, section.table.text());
        if section.left_out > 0 {
            let _ = writeln!(
                out,
                "  ({} rows left out; --format json has them)",
                group_digits(section.left_out as u64)
            );
        }
    }
    out
}

/// For a ticket or a wiki; `name` is the file's.
pub fn inspection_markdown(inspection: &Inspection, name: &str, map: bool) -> String {
    let mut out = format!("# {name}\n\n");
    for (label, value) in inspection_facts(inspection) {
        let _ = writeln!(out, "- {label}: {value}");
    }
    if map {
        let _ = write!(
            out,
            "\n## The ring of VLFs\n\n```text\n{}```\n",
            map::of_inspection(inspection)
        );
    }
    for section in sections(inspection) {
        let _ = write!(out, "\n## {}\n\n{}", section.title, section.table.markdown());
        if section.left_out > 0 {
            let _ = writeln!(out, "\n{} rows left out.", group_digits(section.left_out as u64));
        }
    }
    out
}

/// Every VLF, one row each.
///
/// # Errors
/// `out` refuses a write.
pub fn inspection_csv(inspection: &Inspection, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(
        out,
        "offset,size,sequence,parity,uses,create_lsn,state,blocks,records,growth_step"
    )?;
    for vlf in &inspection.vlfs {
        let header = &vlf.header;
        writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{}",
            header.start_offset,
            header.vlf_bytes,
            header.sequence,
            header.parity.byte(),
            header.use_count,
            vlf.create_lsn
                .map_or_else(String::new, |lsn| create_lsn_text(Some(lsn))),
            vlf.state.word(),
            vlf.blocks,
            vlf.records,
            vlf.growth
        )?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Document<'a> {
    file_bytes: u64,
    format_version: Option<u16>,
    file_header: String,
    vlf_count: usize,
    blocks: u64,
    records: u64,
    records_by_kind: KindMap<'a>,
    block_census: CensusRow,
    block_formats: Vec<BlockFormatRow>,
    log_end: Option<EndRow>,
    linked: Option<LinkedRow>,
    last_checkpoint_lsn: Option<String>,
    growth_history: RowsOf<'a, GrowthEvent>,
    damage_count: u64,
    damage: Vec<DamageRow<'a>>,
    vlfs: RowsOf<'a, InspectedVlf>,
}

/// Rows made one at a time while they are written: a log may have a hundred thousand VLFs.
struct RowsOf<'a, T>(&'a [T]);

impl Serialize for RowsOf<'_, InspectedVlf> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|vlf| VlfRow {
            offset: vlf.header.start_offset,
            size: vlf.header.vlf_bytes,
            sequence: vlf.header.sequence.0,
            parity: vlf.header.parity.byte(),
            uses: vlf.header.use_count,
            create_lsn: json_lsn(vlf.create_lsn),
            growth_step: vlf.growth,
            state: vlf.state.word(),
            blocks: vlf.blocks,
            records: vlf.records,
        }))
    }
}

impl Serialize for RowsOf<'_, GrowthEvent> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|event| GrowthRow {
            create_lsn: json_lsn(event.create_lsn),
            growth_bytes: event.growth_bytes(),
            file_bytes: event.file_bytes_after,
            vlfs_added: event.vlf_count,
            sql_versions: event.versions.iter().map(|version| version.name()).collect(),
        }))
    }
}

fn json_lsn(lsn: Option<Lsn>) -> Option<String> {
    lsn.map(|lsn| create_lsn_text(Some(lsn)))
}

/// Operation name to count.
struct KindMap<'a>(&'a Inspection);

impl Serialize for KindMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.records_by_kind.iter().map(|kind| (&kind.operation, kind.count)))
    }
}

#[derive(Serialize)]
struct VlfRow {
    offset: u64,
    size: u64,
    sequence: u32,
    parity: u8,
    uses: u32,
    /// `null` = not known.
    create_lsn: Option<String>,
    growth_step: u32,
    state: &'static str,
    blocks: u64,
    records: u64,
}

#[derive(Serialize)]
struct GrowthRow {
    /// `null` = not known.
    create_lsn: Option<String>,
    growth_bytes: u64,
    file_bytes: u64,
    vlfs_added: usize,
    sql_versions: Vec<&'static str>,
}

#[derive(Serialize)]
struct CensusRow {
    fillers: u64,
    with_checksum: u64,
    sectors: u64,
    bytes: u64,
    block_bytes_min: u64,
    block_bytes_max: u64,
}

#[derive(Serialize)]
struct BlockFormatRow {
    format_version: u16,
    blocks: u64,
}

#[derive(Serialize)]
struct EndRow {
    offset: u64,
    last_block_lsn: String,
    last_record_lsn: String,
}

#[derive(Serialize)]
struct LinkedRow {
    first_lsn: String,
    last_lsn: String,
    vlf_count: usize,
    block_bytes: u64,
}

#[derive(Serialize)]
struct DamageRow<'a> {
    offset: u64,
    bytes: u64,
    what: &'a str,
}

/// One JSON object, ended by a line break.
///
/// # Errors
/// `out` refuses a write.
pub fn inspection_json(inspection: &Inspection, out: &mut dyn io::Write) -> io::Result<()> {
    let blocks = &inspection.blocks;
    let document = Document {
        file_bytes: inspection.file_bytes,
        format_version: inspection.format.map(|format| format.number()),
        file_header: page_zero_text(&inspection.page_zero),
        vlf_count: inspection.vlfs.len(),
        blocks: blocks.total,
        records: inspection.records,
        records_by_kind: KindMap(inspection),
        block_census: CensusRow {
            fillers: blocks.fillers,
            with_checksum: blocks.with_checksum,
            sectors: blocks.sectors,
            bytes: blocks.bytes,
            block_bytes_min: blocks.block_bytes_min,
            block_bytes_max: blocks.block_bytes_max,
        },
        block_formats: inspection
            .block_formats
            .iter()
            .map(|(format_version, blocks)| BlockFormatRow {
                format_version: *format_version,
                blocks: *blocks,
            })
            .collect(),
        log_end: inspection.log_end.map(|end| EndRow {
            offset: end.offset,
            last_block_lsn: end.last_block.to_string(),
            last_record_lsn: end.last_record.to_string(),
        }),
        linked: inspection.linked.map(|linked| LinkedRow {
            first_lsn: linked.first.to_string(),
            last_lsn: linked.last.to_string(),
            vlf_count: linked.vlf_count,
            block_bytes: linked.block_bytes,
        }),
        last_checkpoint_lsn: inspection.last_checkpoint.map(|lsn| lsn.to_string()),
        growth_history: RowsOf(&inspection.growths),
        damage_count: inspection.damage_count,
        damage: inspection
            .damage
            .iter()
            .map(|damage| DamageRow {
                offset: damage.offset,
                bytes: damage.bytes,
                what: &damage.what,
            })
            .collect(),
        vlfs: RowsOf(&inspection.vlfs),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")
}
