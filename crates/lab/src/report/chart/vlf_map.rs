//! The VLFs of a log, drawn to scale.
//!
//! ```text
//! bad-classic · 20,480 VLFs in 5,120 MB
//! [##################################################]   the whole file
//!  \________________________________________________/
//! [ | | | | | | | | | | | | | | | | | | | | | | | | |]   80 of them, so many times larger
//! ```
//! VLFs too narrow to distinguish are drawn together, so that a map of 126,399 VLFs is as small as one of 16.

use super::{Figure, Key, Panel, WIDTH, svg, text};
use crate::report::format::{bytes, escape, shortened, thousands};
use crate::report::table::{Cell, Table};
use crate::results::{Results, VlfMapFile, VlfRun};

const STRIP_HEIGHT: f64 = 22.0;
const STRIP_TOP: f64 = 22.0;
const GAP: f64 = 16.0;
/// Narrower VLFs are drawn together.
const VLF_WIDTH_MIN: f64 = 1.6;
/// Narrower pieces join their neighbour.
const PIECE_WIDTH_MIN: f64 = 0.5;
/// A few narrow VLFs among others are not worth enlarging: they must be this part of all.
const CROWD_SHARE_MIN: f64 = 0.25;
/// The gap after a VLF, and its largest part of a narrow one's width.
const GAP_WIDTH: f64 = 0.8;
const GAP_SHARE_MAX: f64 = 0.25;
/// VLFs shown enlarged.
const ENLARGED_VLFS: f64 = 80.0;
/// Runs listed in the table of one log; the results file has them all.
const RUNS_LISTED_MAX: usize = 40;
/// Before the first VLF lies the file's header page.
const FILE_HEADER_BYTES: f64 = 8192.0;
const NAME_CHARACTERS_MAX: usize = 62;
const STATUSES: [&str; 3] = ["never used", "reusable", "active"];

/// One panel for each different layout; nothing when no VLFs were counted.
pub(in crate::report) fn figure(results: &Results) -> Figure {
    let mut figure = Figure {
        title: "The VLFs of the log, to scale".into(),
        caption: "The log file as DBCC LOGINFO showed it when its VLFs were last counted, each file at its own scale. Where VLFs are too narrow to distinguish, 80 of them are shown enlarged below.".into(),
        ..Figure::default()
    };
    let mut drawn: Vec<(Vec<String>, &Vec<VlfMapFile>)> = Vec::new();
    for each in results.configurations.iter().filter(|each| !each.vlf_map.is_empty()) {
        match drawn.iter_mut().find(|(_, map)| **map == each.vlf_map) {
            Some((names, _)) => names.push(each.name.clone()),
            None => drawn.push((vec![each.name.clone()], &each.vlf_map)),
        }
    }
    for (names, map) in drawn {
        let name = names.join(", ");
        for file in map.iter().filter(|file| !file.runs.is_empty()) {
            figure.panels.push(Panel {
                caption: shortened(&name, NAME_CHARACTERS_MAX),
                published: false,
                svg: panel(&name, file),
            });
            figure.tables.push(table(&name, file));
        }
    }
    figure.keys = [2, 1, 0]
        .map(|status: u8| Key {
            style: style(status),
            line: false,
            text: status_text(status).into(),
        })
        .into();
    figure
}

/// Colours of the style sheet: active stands out, never used is pale.
fn style(status: u8) -> usize {
    match status {
        0 => 6,
        1 => 1,
        _ => 0,
    }
}

fn status_text(status: u8) -> &'static str {
    STATUSES.get(usize::from(status)).unwrap_or(&"active")
}

fn panel(name: &str, file: &VlfMapFile) -> String {
    let total = file_bytes(file);
    let count: u64 = file.runs.iter().map(|run| run.vlf_count).sum();
    let summary = format!("{} VLFs in {}", thousands(count as f64), bytes(total));
    let mut body = text("value", "start", (0.0, 14.0), &summary);
    let strip = Strip {
        from: 0.0,
        to: total,
        top: STRIP_TOP,
    };
    body.push_str(&strip.svg(file));
    let mut height = STRIP_TOP + STRIP_HEIGHT + 4.0;
    if let Some((from, vlf_bytes)) = crowded(file, total) {
        let to = (from + vlf_bytes * ENLARGED_VLFS).min(total);
        let enlarged = Strip {
            from,
            to,
            top: height + GAP,
        };
        let (left, right) = (strip.at(from), strip.at(to).max(strip.at(from) + 1.0));
        body.push_str(&format!(
            "<path class=\"grid\" d=\"M{left:.1} {0:.1}L0 {1:.1}M{right:.1} {0:.1}L{WIDTH} {1:.1}\"/>",
            STRIP_TOP + STRIP_HEIGHT,
            enlarged.top
        ));
        body.push_str(&enlarged.svg(file));
        let times = format!("{}× larger", thousands((total / (to - from)).round()));
        height = enlarged.top + STRIP_HEIGHT + 16.0;
        body.push_str(&text("tick", "end", (WIDTH, height - 3.0), &times));
    }
    let title = format!("VLF map of {name}, file {}", file.file_id);
    svg(height, &title, &summary, &body)
}

fn file_bytes(file: &VlfMapFile) -> f64 {
    let vlfs: f64 = file
        .runs
        .iter()
        .map(|run| run.vlf_count as f64 * run.vlf_bytes as f64)
        .sum();
    FILE_HEADER_BYTES + vlfs
}

/// Where the longest run of VLFs too narrow to be seen begins, and the size of one.
fn crowded(file: &VlfMapFile, total: f64) -> Option<(f64, f64)> {
    let mut at = FILE_HEADER_BYTES;
    let mut found: Option<(u64, f64, f64)> = None;
    let mut narrow_count = 0;
    for run in &file.runs {
        let size = run.vlf_bytes as f64;
        let narrow = size / total * WIDTH < VLF_WIDTH_MIN;
        narrow_count += if narrow { run.vlf_count } else { 0 };
        if narrow && found.is_none_or(|(count, _, _)| run.vlf_count > count) {
            found = Some((run.vlf_count, at, size));
        }
        at += size * run.vlf_count as f64;
    }
    let all: u64 = file.runs.iter().map(|run| run.vlf_count).sum();
    found
        .filter(|_| narrow_count as f64 >= all as f64 * CROWD_SHARE_MIN)
        .map(|(_, at, size)| (at, size))
}

/// A part of the file, drawn over the panel's width.
struct Strip {
    from: f64,
    to: f64,
    top: f64,
}

/// Neighbouring VLFs of one status that are drawn as one.
#[derive(Clone, Copy)]
struct Piece {
    left: f64,
    right: f64,
    status: u8,
}

impl Strip {
    fn at(&self, offset: f64) -> f64 {
        (offset - self.from) / (self.to - self.from) * WIDTH
    }

    fn svg(&self, file: &VlfMapFile) -> String {
        let mut body = String::new();
        let mut pending: Option<Piece> = None;
        let mut offset = FILE_HEADER_BYTES;
        for run in &file.runs {
            let end = offset + run.vlf_bytes as f64 * run.vlf_count as f64;
            if end > self.from && offset < self.to {
                self.add_run(run, offset, &mut pending, &mut body);
            }
            offset = end;
        }
        if let Some(piece) = pending {
            body.push_str(&self.piece_svg(piece, "dense"));
        }
        body
    }

    fn add_run(&self, run: &VlfRun, offset: f64, pending: &mut Option<Piece>, body: &mut String) {
        let size = run.vlf_bytes as f64;
        let width = size / (self.to - self.from) * WIDTH;
        if width < VLF_WIDTH_MIN {
            let piece = Piece {
                left: self.at(offset).max(0.0),
                right: self.at(offset + size * run.vlf_count as f64).min(WIDTH),
                status: run.status,
            };
            *pending = Some(self.joined(*pending, piece, body));
            return;
        }
        if let Some(piece) = pending.take() {
            body.push_str(&self.piece_svg(piece, "dense"));
        }
        let first = ((self.from - offset) / size).floor().max(0.0) as u64;
        for index in first..run.vlf_count {
            let left = self.at(offset + size * index as f64);
            if left >= WIDTH {
                break;
            }
            let piece = Piece {
                left: left.max(0.0),
                right: (left + width - GAP_WIDTH.min(width * GAP_SHARE_MAX)).min(WIDTH),
                status: run.status,
            };
            body.push_str(&self.piece_svg(piece, "vlf"));
        }
    }

    /// The piece to go on with; one that another follows is drawn.
    fn joined(&self, pending: Option<Piece>, piece: Piece, body: &mut String) -> Piece {
        let Some(before) = pending else { return piece };
        let narrow = |piece: Piece| piece.right - piece.left < PIECE_WIDTH_MIN;
        if before.status == piece.status || narrow(piece) {
            return Piece {
                right: piece.right,
                ..before
            };
        }
        if narrow(before) {
            return Piece {
                left: before.left,
                ..piece
            };
        }
        body.push_str(&self.piece_svg(before, "dense"));
        piece
    }

    fn piece_svg(&self, piece: Piece, class: &str) -> String {
        format!(
            "<rect class=\"area {class} c{}\" x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{STRIP_HEIGHT}\"><title>{}</title></rect>",
            style(piece.status),
            piece.left,
            self.top,
            piece.right - piece.left,
            escape(status_text(piece.status))
        )
    }
}

fn table(name: &str, file: &VlfMapFile) -> Table {
    let mut table = Table::plain(
        format!("VLFs of {name}, file {}", file.file_id),
        &["<log file", "VLFs", "of", "<status"],
    );
    for (index, run) in file.runs.iter().take(RUNS_LISTED_MAX).enumerate() {
        let first = if index == 0 {
            format!("{name}, file {}", file.file_id)
        } else {
            String::new()
        };
        table.push(vec![
            Cell::text(first),
            Cell::figure(thousands(run.vlf_count as f64)),
            Cell::figure(format!("{} bytes", thousands(run.vlf_bytes as f64))),
            Cell::text(status_text(run.status)),
        ]);
    }
    let left_out = file.runs.len().saturating_sub(RUNS_LISTED_MAX);
    if left_out > 0 {
        table.push(vec![
            Cell::text(""),
            Cell::figure("…"),
            Cell::figure(""),
            Cell::text(format!("{left_out} more groups, all in results.json")),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(runs: &[(u64, u64, u8)]) -> VlfMapFile {
        VlfMapFile {
            file_id: 2,
            runs: runs
                .iter()
                .map(|&(vlf_count, vlf_bytes, status)| VlfRun {
                    vlf_count,
                    vlf_bytes,
                    status,
                })
                .collect(),
        }
    }

    #[test]
    fn few_vlfs_are_drawn_each() {
        let svg = panel("good", &file(&[(15, 335_478_784, 2), (1, 336_519_168, 0)]));
        assert_eq!(svg.matches("area vlf").count(), 16);
        assert!(svg.contains("16 VLFs in 5,120 MB") && !svg.contains("larger"));
    }

    #[test]
    fn many_vlfs_make_no_larger_drawing() {
        let even = panel("bad", &file(&[(126_399, 262_144, 2)]));
        let alternating: Vec<(u64, u64, u8)> = (0..126_399)
            .map(|index| (1, 262_144 + index % 2, (index % 3) as u8))
            .collect();
        let uneven = panel("worse", &file(&alternating));
        for svg in [&even, &uneven] {
            assert!(svg.len() < 160_000, "{}", svg.len());
            assert!(svg.contains("126,399 VLFs") && svg.contains("1,580× larger"), "{svg}");
        }
        assert_eq!(even.matches("area vlf").count(), 80);
        assert_eq!(table("worse", &file(&alternating)).rows.len(), RUNS_LISTED_MAX + 1);
    }
}
