//! The ring of VLFs drawn with characters.
//!
//! The log runs left to right, row by row, and from the last VLF back to the first. Each cell stands for the same number
//! of bytes. While there is room, every VLF is drawn by itself between borders; with too many, a cell shows how many VLFs
//! begin in it (plans) or the most important state among them (files).
//!
//! ```text
//!  ,->  |......|######|......|######|
//!       |............|############| --,
//!  '----------------------------------'
//! ```

use std::fmt::Write;

use crate::inspection::{Inspection, VlfState};
use crate::size::{format_bytes, group_digits};
use crate::snapshot::LogFile;
use vlf::LogLayout;

/// Cells of a row.
const COLUMNS: usize = 72;
/// Rows at most.
const ROWS_MAX: usize = 8;
/// A VLF drawn by itself needs this many cells at least on average.
const CELLS_PER_VLF_MIN: usize = 4;
/// How many VLFs begin in a cell: none, 1, 2, 3-4, 5-8, 9-16, 17-32, 33 and more.
const DENSITY: [char; 8] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '█'];

/// A VLF as the map needs it.
#[derive(Clone, Copy)]
struct MapVlf {
    offset: u64,
    bytes: u64,
    glyph: char,
    /// Which of several glyphs a shared cell shows: the highest.
    weight: u8,
}

/// The map of a plan: growths alternate between light and dark.
pub fn of_layout(layout: &LogLayout) -> String {
    let vlfs: Vec<MapVlf> = layout
        .vlfs()
        .iter()
        .map(|vlf| MapVlf {
            offset: vlf.span.offset,
            bytes: vlf.span.bytes,
            glyph: if vlf.growth_step.is_multiple_of(2) {
                '▒'
            } else {
                '█'
            },
            weight: 0,
        })
        .collect();
    let Some(cells) = Cells::of(layout.file_bytes(), vlfs.len()) else {
        return String::new();
    };
    let mut out = ring(&cells.draw(&vlfs, !cells.single));
    let legend = if cells.single {
        "▒ █ VLFs; the shade changes from growth to growth"
    } else {
        "VLFs that begin in a cell: · none  ▁ 1  ▂ 2  ▃ 3-4  ▄ 5-8  ▅ 9-16  ▆ 17-32  █ more"
    };
    let _ = writeln!(out, "       {legend}; one cell = {}", format_bytes(cells.cell_bytes));
    out
}

/// The map of a file: what each VLF is to the log.
pub fn of_inspection(inspection: &Inspection) -> String {
    let vlfs: Vec<MapVlf> = inspection
        .vlfs
        .iter()
        .map(|vlf| {
            let (glyph, weight) = match (vlf.damaged, vlf.state) {
                (true, _) => ('!', 5),
                (_, VlfState::Tail) => ('█', 4),
                (_, VlfState::Active) => ('▓', 3),
                (_, VlfState::Linked) => ('▒', 2),
                (_, VlfState::Old) => ('░', 1),
                (_, VlfState::Unused) => ('·', 0),
            };
            MapVlf {
                offset: vlf.header.start_offset,
                bytes: vlf.header.vlf_bytes,
                glyph,
                weight,
            }
        })
        .collect();
    // Where no VLF header was found, damage is all there is to draw.
    let gaps = inspection
        .damage
        .iter()
        .filter(|damage| damage.bytes > 0 && damage.offset < inspection.file_bytes)
        .map(|damage| MapVlf {
            offset: damage.offset,
            bytes: damage.bytes,
            glyph: '!',
            weight: 5,
        });
    let Some(cells) = Cells::of(inspection.file_bytes, vlfs.len()) else {
        return String::new();
    };
    let drawn: Vec<MapVlf> = vlfs.into_iter().chain(gaps).collect();
    let mut out = ring(&cells.draw(&drawn, false));
    let count = |state| group_digits(inspection.vlfs.iter().filter(|vlf| vlf.state == state).count() as u64);
    let _ = writeln!(
        out,
        "       █ tail {}  ▓ active {}  ▒ linked {}  ░ old {}  · unused {}  ! damaged {}; one cell = {}",
        count(VlfState::Tail),
        count(VlfState::Active),
        count(VlfState::Linked),
        count(VlfState::Old),
        count(VlfState::Unused),
        group_digits(inspection.vlfs.iter().filter(|vlf| vlf.damaged).count() as u64),
        format_bytes(cells.cell_bytes)
    );
    out
}

/// The map of a server's log: the status of each VLF.
pub fn of_server(file: &LogFile) -> String {
    let vlfs: Vec<MapVlf> = file
        .vlfs
        .iter()
        .map(|vlf| {
            let (glyph, weight) = match vlf.status {
                2 => ('▓', 2),
                1 => ('·', 0),
                0 => ('░', 1),
                _ => ('?', 3),
            };
            MapVlf {
                offset: vlf.offset,
                bytes: vlf.bytes,
                glyph,
                weight,
            }
        })
        .collect();
    let Some(cells) = Cells::of(file.bytes, vlfs.len()) else {
        return String::new();
    };
    let mut out = ring(&cells.draw(&vlfs, false));
    let count = |status| group_digits(file.vlfs.iter().filter(|vlf| vlf.status == status).count() as u64);
    let _ = writeln!(
        out,
        "       ▓ active {}  ░ reusable {}  · never used {}  ? growth not yet redone {}; one cell = {}",
        count(2),
        count(0),
        count(1),
        count(4),
        format_bytes(cells.cell_bytes)
    );
    out
}

/// The grid: how many cells, and how many bytes each.
struct Cells {
    count: usize,
    cell_bytes: u64,
    /// Every VLF is drawn by itself.
    single: bool,
}

impl Cells {
    fn of(file_bytes: u64, vlf_count: usize) -> Option<Cells> {
        if file_bytes == 0 || vlf_count == 0 {
            return None;
        }
        let rows = (vlf_count * CELLS_PER_VLF_MIN).div_ceil(COLUMNS).clamp(1, ROWS_MAX);
        let count = rows * COLUMNS;
        Some(Cells {
            count,
            cell_bytes: file_bytes.div_ceil(count as u64).max(1),
            single: vlf_count * CELLS_PER_VLF_MIN <= count,
        })
    }

    fn cell_of(&self, offset: u64) -> usize {
        usize::try_from(offset / self.cell_bytes)
            .unwrap_or(usize::MAX)
            .min(self.count - 1)
    }

    /// One character per cell. `density` = count the VLFs instead of showing them.
    fn draw(&self, vlfs: &[MapVlf], density: bool) -> Vec<char> {
        let mut cells = vec![(' ', 0u8, 0u64); self.count];
        for vlf in vlfs {
            let first = self.cell_of(vlf.offset);
            let last = self.cell_of(vlf.offset.saturating_add(vlf.bytes).saturating_sub(1));
            for (index, cell) in cells.iter_mut().enumerate().take(last + 1).skip(first) {
                if cell.0 == ' ' || cell.1 <= vlf.weight {
                    (cell.0, cell.1) = (vlf.glyph, vlf.weight);
                }
                cell.2 += u64::from(index == first);
            }
        }
        if density {
            return cells.iter().map(|cell| DENSITY[density_class(cell.2)]).collect();
        }
        if self.single {
            let begins = vlfs
                .iter()
                .filter(|vlf| vlf.offset > vlf::FIRST_VLF_OFFSET && vlf.bytes >= self.cell_bytes);
            for vlf in begins {
                if let Some(cell) = cells.get_mut(self.cell_of(vlf.offset)) {
                    cell.0 = '|';
                }
            }
        }
        cells.into_iter().map(|cell| cell.0).collect()
    }
}

fn density_class(count: u64) -> usize {
    match count {
        0..=2 => usize::try_from(count).unwrap_or(0),
        3..=4 => 3,
        5..=8 => 4,
        9..=16 => 5,
        17..=32 => 6,
        _ => 7,
    }
}

/// Rows with the way back from the end to the start.
fn ring(cells: &[char]) -> String {
    let mut out = String::new();
    let rows = cells.len().div_ceil(COLUMNS);
    for (index, row) in cells.chunks(COLUMNS).enumerate() {
        let left = if index == 0 { " ╭──▶ " } else { " │    " };
        let right = if index + 1 == rows { "──╮" } else { "" };
        let row: String = row.iter().collect();
        let _ = writeln!(out, "{}", format!("{left} {row} {right}").trim_end());
    }
    let _ = writeln!(out, " ╰{}╯", "─".repeat(COLUMNS + 8));
    out
}
