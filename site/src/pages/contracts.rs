//! //! Pages made from the contracts at the head of modules: the formats of files byte by byte, and the equations of the models.

use crate::picture::{Field, byte_map};
use crate::{COMMAND, Generated, Outcome, SiteError, read};
use std::fmt::Write as _;
use std::path::Path;

/// A part of a page: a module's contract, and perhaps a drawing of the structure that it describes.
struct Part {
    title: &'static str,
    source: &'static str,
    drawing: Option<Drawing>,
}

struct Drawing {
    path: &'static str,
    /// What is drawn, in words.
    title: &'static str,
    bytes: usize,
    /// Offset, bytes and name of each field. The contract has each offset.
    fields: &'static [(usize, usize, &'static str)],
}

const fn part(title: &'static str, source: &'static str) -> Part {
    Part {
        title,
        source,
        drawing: None,
    }
}

const FORMATS_HEAD: &str = "# Files, byte by byte\n\n\
The bytes of database files and backups. Each part is the text at the head of the source file that reads and writes the bytes. Drawings show \
structures with fixed offsets, 16 bytes a row; the colours only separate neighbouring fields. All numbers are little-endian. Checksums are \
CRC-32C.\n\n\
`vlflab inspect FILE.ldf` shows these structures in a log file of yours, SQL Server's or ours.\n\n\
| file | what it is |\n|---|---|\n\
| `*.ldf` | the transaction log |\n| `*.ldf.vlfs` | the directory of VLF states, a shortcut that may be lost |\n\
| `*.mdf`, `*.ndf` | data: pages of 8 KB |\n| `*.bak`, `*.trn` | backups |\n\n";

const FORMATS: [Part; 18] = [
    part("A log file as a whole", "crates/vlf/src/lib.rs"),
    Part {
        title: "Page 0 of a log file",
        source: "crates/vlf/src/file_header.rs",
        drawing: Some(Drawing {
            path: "docs/pictures/bytes-page-zero.svg",
            title: "The beginning of page 0 of a log file, 192 bytes",
            bytes: 192,
            fields: &[
                (0x000, 1, "v"),
                (0x001, 1, "type"),
                (0x004, 2, "flags"),
                (0x020, 6, "page number, file"),
                (0x03C, 4, "CRC"),
                (0x060, 8, "VLFLABLF"),
                (0x068, 2, "format"),
                (0x06A, 2, "headers"),
                (0x06C, 2, "version"),
                (0x06E, 2, "sector"),
                (0x070, 16, "database id"),
                (0x080, 8, "created"),
                (0x088, 8, "file bytes"),
                (0x090, 4, "runs"),
                (0x094, 8, "generation"),
                (0x09C, 4, "growths"),
                (0x0A0, 16, "growths: page, create LSN"),
            ],
        }),
    },
    Part {
        title: "The header of a VLF",
        source: "crates/vlf/src/vlf_header.rs",
        drawing: Some(Drawing {
            path: "docs/pictures/bytes-vlf-header.svg",
            title: "The header of a VLF, its first 64 bytes",
            bytes: 64,
            fields: &[
                (0x00, 1, "AB"),
                (0x01, 1, "parity"),
                (0x02, 2, "format"),
                (0x04, 4, "sequence"),
                (0x08, 4, "0"),
                (0x0C, 4, "uses"),
                (0x10, 8, "bytes of the VLF"),
                (0x18, 8, "offset in the file"),
                (0x20, 10, "create LSN"),
                (0x2C, 4, "CRC"),
                (0x30, 10, "durable below this LSN"),
            ],
        }),
    },
    Part {
        title: "A log block",
        source: "crates/vlf/src/block.rs",
        drawing: Some(Drawing {
            path: "docs/pictures/bytes-block.svg",
            title: "The header of a log block, 72 bytes",
            bytes: 72,
            fields: &[
                (0x00, 2, "format"),
                (0x02, 2, "slots"),
                (0x04, 2, "used"),
                (0x06, 2, "length"),
                (0x08, 2, "flags"),
                (0x0A, 2, "before"),
                (0x0C, 10, "LSN of the first record"),
                (0x18, 4, "XOR"),
                (0x1C, 4, "CRC"),
                (0x20, 4, "CRC before"),
                (0x24, 2, "sector"),
                (0x28, 8, "written at"),
                (0x30, 10, "durable below this LSN"),
            ],
        }),
    },
    part("Log sequence numbers", "crates/vlf/src/lsn.rs"),
    part(
        "The end of a transaction, and its mark",
        "crates/engine/src/log/mark.rs",
    ),
    Part {
        title: "A log record",
        source: "crates/engine/src/log/record.rs",
        drawing: Some(Drawing {
            path: "docs/pictures/bytes-record.svg",
            title: "The header of a log record, 22 bytes, 32 of a compensation",
            bytes: 32,
            fields: &[
                (0, 2, "length"),
                (2, 1, "kind"),
                (3, 1, "0"),
                (4, 8, "transaction"),
                (12, 10, "record before this one"),
                (22, 10, "undo goes on with"),
            ],
        }),
    },
    part("The page changes in a log record", "crates/engine/src/page/change.rs"),
    part("The directory of VLF states", "crates/engine/src/log/directory.rs"),
    Part {
        title: "A page",
        source: "crates/engine/src/page/mod.rs",
        drawing: Some(Drawing {
            path: "docs/pictures/bytes-page.svg",
            title: "The header of a page, 96 bytes, of which 60 are in use",
            bytes: 96,
            fields: &[
                (0, 1, "v"),
                (1, 1, "kind"),
                (2, 1, "level"),
                (3, 1, "flags"),
                (4, 4, "CRC"),
                (8, 6, "page id"),
                (14, 2, "slots"),
                (16, 10, "LSN"),
                (26, 2, "free"),
                (28, 2, "holes"),
                (30, 2, "ghosts"),
                (32, 4, "object"),
                (36, 6, "next page"),
                (42, 6, "page before"),
                (48, 10, "reclaim LSN"),
                (58, 2, "reserved"),
            ],
        }),
    },
    part("A row", "crates/engine/src/types/row.rs"),
    part("A row on its page", "crates/engine/src/store/row.rs"),
    part("Large values", "crates/engine/src/store/large/mod.rs"),
    part("Change maps", "crates/engine/src/buffer/changes.rs"),
    part("Files of database snapshots", "crates/engine/src/buffer/snapshot.rs"),
    part("Space maps and extent lists", "crates/engine/src/store/space.rs"),
    part("The boot record", "crates/engine/src/recovery/boot.rs"),
    Part {
        title: "A backup file",
        source: "crates/engine/src/backup/format.rs",
        drawing: Some(Drawing {
            path: "docs/pictures/bytes-chunk.svg",
            title: "The header of a chunk of a backup, 48 bytes",
            bytes: 48,
            fields: &[
                (0, 4, "VBCK"),
                (4, 2, "kind"),
                (6, 2, "flags"),
                (8, 4, "stored"),
                (12, 4, "plain"),
                (16, 8, "address"),
                (24, 4, "number"),
                (28, 8, "set guid begins"),
                (36, 4, "CRC payload"),
                (40, 4, "0"),
                (44, 4, "CRC"),
            ],
        }),
    },
];

const MODELS_HEAD: &str = "# The cost model\n\n\
The cost of a request and of a log's layout on a modelled disk. Each part is the text at the head of the source file that computes it. The input \
figures are those of [the disks](disks.md). [How accurate the models are](validity.md) compares the results with published measurements.\n\n";

const MODELS: [Part; 7] = [
    part("The model as a whole", "crates/device/src/lib.rs"),
    part("A rotating disk", "crates/device/src/rotating.rs"),
    part("Flash, and volumes behind a network", "crates/device/src/flash.rs"),
    part("Files on a disk", "crates/device/src/volume.rs"),
    part("The requests that SQL Server makes", "crates/device/src/practice.rs"),
    part("Repeated work, in closed form", "crates/device/src/price.rs"),
    part("The price of a layout", "crates/device/src/layout.rs"),
];

/// The pages and their drawings.
///
/// # Errors
/// A module that is not there or has no contract; a drawing with an offset that the contract does not have.
pub fn generated(root: &Path) -> Outcome<Vec<Generated>> {
    let mut files = Vec::new();
    for (path, head, parts) in [
        ("docs/formats.md", FORMATS_HEAD, &FORMATS[..]),
        ("docs/cost-model.md", MODELS_HEAD, &MODELS[..]),
    ] {
        let mut text = format!("<!-- Made by {COMMAND}. -->\n{head}");
        for part in parts {
            let contract = contract(&read(&root.join(part.source))?);
            if contract.is_empty() {
                return Err(SiteError(format!("{} opens without a contract", part.source)));
            }
            let _ = write!(text, "## {}\n\n", part.title);
            if let Some(drawing) = &part.drawing {
                files.push(drawn(part, drawing, &contract)?);
                let name = drawing.path.trim_start_matches("docs/");
                let _ = write!(text, "![{}]({name})\n\n", drawing.title);
            }
            let _ = write!(text, "{contract}\n\n[`{0}`](../{0})\n\n", part.source);
        }
        let text = text.trim_end().to_string() + "\n";
        files.push(Generated { path, text });
    }
    Ok(files)
}

fn drawn(part: &Part, drawing: &Drawing, contract: &str) -> Outcome<Generated> {
    let missing = drawing
        .fields
        .iter()
        .find(|(offset, _, _)| !names_offset(contract, *offset));
    if let Some((offset, _, name)) = missing {
        let text = format!(
            "{}: its drawing has '{name}' at {offset}, which the contract does not name",
            part.source
        );
        return Err(SiteError(text));
    }
    let fields: Vec<Field> = drawing
        .fields
        .iter()
        .map(|&(offset, bytes, name)| Field {
            offset,
            bytes,
            name: name.to_string(),
        })
        .collect();
    Ok(Generated {
        path: drawing.path,
        text: byte_map(drawing.title, &fields, drawing.bytes),
    })
}

/// Whether a contract has an offset, in either way of writing numbers.
fn names_offset(contract: &str, offset: usize) -> bool {
    let spelled = [format!("0x{offset:02X}"), format!("0x{offset:03X}"), offset.to_string()];
    contract
        .split(|character: char| !character.is_ascii_alphanumeric())
        .any(|word| spelled.iter().any(|spelling| spelling == word))
}

/// A module's contract as Markdown, without the links that only rustdoc can follow.
fn contract(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let text: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let (mut plain, mut rest) = (String::new(), text.join("\n"));
    while let Some(begin) = rest.find("[`") {
        let (before, behind) = rest.split_at(begin);
        plain.push_str(before);
        match behind.find("`]") {
            Some(end) => {
                let path = &behind[2..end];
                let name = ["crate::", "super::", "self::"]
                    .iter()
                    .fold(path, |path, begin| path.trim_start_matches(begin));
                let _ = write!(plain, "`{name}`");
                rest = behind[end + 2..].to_string();
            }
            None => {
                plain.push_str("[`");
                rest = behind[2..].to_string();
            }
        }
    }
    plain + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contract_is_what_the_module_opens_with() {
        let source = "//! Head, see [`crate::a::B`] and [`c`].\n//!\n//! ```text\n//! 0x0C  u16\n//! ```\n\nuse x;\n//! no more\n";
        let read = contract(source);
        assert_eq!(read, "Head, see `a::B` and `c`.\n\n```text\n0x0C  u16\n```");
        assert!(names_offset(&read, 12) && !names_offset(&read, 16));
        assert!(names_offset("8 u32 crc | 12 u16", 8) && !names_offset("18 u32", 8));
    }
}
