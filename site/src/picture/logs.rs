//! Logs as their VLFs: few and many, made by growth, used in turns.

use super::{Picture, WIDTH, grouped};
use crate::{Outcome, SiteError};
use vlf::{LogLayout, RuleError, ServerVersion};

const MB: u64 = 1 << 20;

fn refused(error: RuleError) -> SiteError {
    SiteError(format!("the rules of VLFs refuse a log of the book: {error}"))
}

/// A log created at once and one grown by 1 MB, of the size that was published; and one VLF of the first as the second has it.
///
/// # Errors
/// Sizes that the rules refuse.
pub fn sixteen_and_many() -> Outcome<String> {
    let bytes = 5120 * MB;
    let few = LogLayout::create(ServerVersion::V2005, bytes).map_err(refused)?;
    let mut many = LogLayout::create(ServerVersion::V2005, MB).map_err(refused)?;
    many.grow_until(bytes, MB).map_err(refused)?;
    let mut picture = Picture::new();
    picture.text("name", 0.0, 12.0, format!("5 GB at once: {} VLFs", few.vlf_count()));
    let scale = WIDTH / bytes as f64;
    for vlf in few.vlfs() {
        let at = (vlf.span.offset as f64 * scale, 20.0);
        picture.cell(
            "cell cool",
            at,
            (vlf.span.bytes as f64 * scale, 22.0),
            &megabytes(vlf.span.bytes),
        );
    }
    let span = few.vlfs().first().map_or(0..0, |vlf| vlf.span.offset..vlf.span.end());
    let inside = many.vlfs().iter().filter(|vlf| span.contains(&vlf.span.offset)).count();
    let words = format!("5 GB by 1 MB at a time: {} VLFs", grouped(many.vlf_count() as u64));
    picture.text("name", 0.0, 68.0, words);
    picture.cell(
        "hot",
        (0.0, 76.0),
        (WIDTH, 22.0),
        "20 borders of VLFs for every unit of this picture's width",
    );
    let width = (span.end - span.start) as f64 * scale;
    picture.path("line", format!("M0 98V112M{width:.2} 98L{WIDTH} 112"));
    let columns = 64;
    let side = WIDTH / columns as f64;
    for index in 0..inside {
        let at = ((index % columns) as f64 * side, 112.0 + (index / columns) as f64 * side);
        picture.cell("fine hot", at, (side, side), "");
    }
    picture.y = 112.0 + inside.div_ceil(columns) as f64 * side + 18.0;
    let words = format!(
        "Where the first log has one VLF, the second has {}: each box is one.",
        grouped(inside as u64)
    );
    picture.text("soft", 0.0, picture.y - 2.0, words);
    let described = format!(
        "The first log has {} VLFs of 320 MB each. The second one has {}, of about 256 KB each; the first 320 MB of it hold {inside}.",
        few.vlf_count(),
        many.vlf_count()
    );
    Ok(picture.finish("A log of 5 GB with 16 VLFs and with 20,480", &described))
}

fn megabytes(bytes: u64) -> String {
    match bytes >= MB {
        true => format!("a VLF of {:.1} MB", bytes as f64 / MB as f64),
        false => format!("a VLF of {} KB", bytes / 1024),
    }
}

/// The same growths under the rules of three versions: a log of 8 MB that grows by 64 MB.
///
/// # Errors
/// Sizes that the rules refuse.
pub fn growth() -> Outcome<String> {
    const GROWTHS: usize = 10;
    let versions = [
        (ServerVersion::V2012, "2005 to 2012: four VLFs for each growth of 64 MB"),
        (
            ServerVersion::V2019,
            "2014 to 2019: one, once 64 MB are less than an eighth",
        ),
        (ServerVersion::V2022, "2022 and 2025: one for each growth up to 64 MB"),
    ];
    let bytes = (8 + 64 * GROWTHS as u64) * MB;
    let scale = WIDTH / bytes as f64;
    let (mut picture, mut counts) = (Picture::new(), Vec::new());
    for (version, words) in versions {
        let mut layout = LogLayout::create(version, 8 * MB).map_err(refused)?;
        for _ in 0..GROWTHS {
            layout.grow(64 * MB).map_err(refused)?;
        }
        counts.push(format!("{words}, {} in all", layout.vlf_count()));
        picture.text("name", 0.0, picture.y + 12.0, words);
        let top = picture.y + 20.0;
        for vlf in layout.vlfs() {
            let class = if vlf.growth_step.is_multiple_of(2) {
                "cell cool"
            } else {
                "cell hot"
            };
            let at = (vlf.span.offset as f64 * scale, top);
            picture.cell(
                class,
                at,
                (vlf.span.bytes as f64 * scale, 22.0),
                &megabytes(vlf.span.bytes),
            );
        }
        picture.text("soft end", WIDTH, top + 36.0, format!("{} VLFs", layout.vlf_count()));
        picture.y = top + 48.0;
    }
    let words = "8 MB, then ten growths of 64 MB; colours take turns with the growths.";
    picture.text("soft", 0.0, picture.y + 8.0, words);
    picture.y += 12.0;
    Ok(picture.finish("How growth makes VLFs, by version", &counts.join("; ")))
}

/// What a VLF is at a moment.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Free,
    Active,
    /// Active, and the log's end is in it.
    End,
}

/// A log of eight VLFs at three moments: filled from the left, its beginning free again, and gone on there.
///
/// # Errors
/// Sizes that the rules refuse.
pub fn wrap() -> Outcome<String> {
    let layout = LogLayout::create(ServerVersion::V2022, 512 * MB).map_err(refused)?;
    let count = layout.vlf_count();
    // The oldest VLF that is needed and the one that the log ends in, by sequence.
    let moments = [
        (1, 7, "The log has come to the seventh VLF."),
        (6, 7, "A log backup lets go of the first five."),
        (6, 10, "The log goes round: VLF 9 is where VLF 1 was."),
    ];
    let mut picture = Picture::new();
    let scale = WIDTH / layout.file_bytes() as f64;
    for (oldest, newest, words) in moments {
        picture.text("name", 0.0, picture.y + 12.0, words);
        let top = picture.y + 20.0;
        for (index, vlf) in layout.vlfs().iter().enumerate() {
            let (sequence, used) = used(index, count, oldest, newest);
            let (class, ink) = match used {
                Use::Free => ("cell free", "soft"),
                Use::Active => ("cell cool", "on-cool"),
                Use::End => ("cell hot", "on-hot"),
            };
            let (x, width) = (vlf.span.offset as f64 * scale, vlf.span.bytes as f64 * scale);
            picture.cell(class, (x, top), (width, 30.0), "");
            let name = if sequence == 0 {
                "-".to_string()
            } else {
                sequence.to_string()
            };
            picture.text(&format!("middle name {ink}"), x + width / 2.0, top + 20.0, name);
        }
        picture.y = top + 44.0;
    }
    let legend = [
        ("cool", "needed", 0.0),
        ("hot", "the log's end", 90.0),
        ("free", "free: may be written over", 210.0),
    ];
    for (class, words, x) in legend {
        picture.cell(class, (x, picture.y), (12.0, 12.0), "");
        picture.text("soft", x + 18.0, picture.y + 10.5, words);
    }
    picture.y += 16.0;
    let described = "Eight VLFs in a row. First 1 to 7 are in use; then 1 to 5 are free; then 6 to 10, where 9 and 10 are in the places \
                     of 1 and 2.";
    Ok(picture.finish("How the log wraps", described))
}

/// The sequence number that the VLF in this place has (0: none yet), and what it is, when the log goes from `oldest` to `newest`.
fn used(index: usize, count: usize, oldest: usize, newest: usize) -> (usize, Use) {
    let rounds = (newest.saturating_sub(index + 1)) / count;
    let sequence = index + 1 + rounds * count;
    match sequence {
        sequence if sequence > newest => (0, Use::Free),
        sequence if sequence == newest => (sequence, Use::End),
        sequence if sequence >= oldest => (sequence, Use::Active),
        sequence => (sequence, Use::Free),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_newest_sequence_that_was_there() {
        let at = |newest| (0..8).map(|index| used(index, 8, 6, newest).0).collect::<Vec<_>>();
        assert_eq!(at(7), [1, 2, 3, 4, 5, 6, 7, 0]);
        assert_eq!(at(8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(at(10), [9, 10, 3, 4, 5, 6, 7, 8]);
        let free = (0..8).filter(|&index| used(index, 8, 6, 10).1 == Use::Free).count();
        assert_eq!(free, 3);
    }

    #[test]
    fn the_pictures_have_the_published_numbers() {
        let picture = sixteen_and_many().expect("the sizes are lawful");
        assert!(
            picture.contains("at once: 16 VLFs") && picture.contains("at a time: 20,480 VLFs"),
            "{picture}"
        );
        let growth = growth().expect("the sizes are lawful");
        assert!(growth.contains(">44 VLFs<") && growth.contains(">14 VLFs<"), "{growth}");
    }
}
