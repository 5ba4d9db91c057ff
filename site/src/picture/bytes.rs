//! Structures of bytes, drawn as a module's contract lists their fields.

use super::{Picture, WIDTH};

/// A field of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub offset: usize,
    pub bytes: usize,
    pub name: String,
}

const ROW_BYTES: usize = 16;
const LEFT: f64 = 44.0;
const ROW_HEIGHT: f64 = 30.0;

/// A structure of so many bytes, 16 in a row. What no field names is empty.
pub fn byte_map(title: &str, fields: &[Field], bytes: usize) -> String {
    let mut picture = Picture::new();
    let side = (WIDTH - LEFT) / ROW_BYTES as f64;
    for row in 0..bytes.div_ceil(ROW_BYTES) {
        let (top, first) = (row as f64 * ROW_HEIGHT + 14.0, row * ROW_BYTES);
        picture.text("soft end", LEFT - 6.0, top + 19.0, format!("{first:#04x}"));
        let width = (bytes - first).min(ROW_BYTES) as f64 * side;
        picture.cell("panel", (LEFT, top), (width, ROW_HEIGHT - 4.0), "");
    }
    for place in (0..ROW_BYTES).step_by(4) {
        picture.text("soft", LEFT + place as f64 * side + 2.0, 9.0, format!("+{place}"));
    }
    for (index, field) in fields.iter().enumerate() {
        draw(&mut picture, field, index, side);
    }
    picture.y = bytes.div_ceil(ROW_BYTES) as f64 * ROW_HEIGHT + 14.0;
    let list: Vec<String> = fields
        .iter()
        .map(|field| format!("{:#04x}, {} bytes: {}", field.offset, field.bytes, field.name))
        .collect();
    picture.finish(title, &list.join("; "))
}

/// A field is a box in each row that it reaches into; its name stands in the longest of them.
fn draw(picture: &mut Picture, field: &Field, index: usize, side: f64) {
    let (class, ink) = if index.is_multiple_of(2) {
        ("cell cool", "on-cool")
    } else {
        ("cell hot", "on-hot")
    };
    let end = field.offset + field.bytes;
    let told = format!("{:#04x}, {} bytes: {}", field.offset, field.bytes, field.name);
    let mut longest = (0, 0.0, 0.0);
    let mut at = field.offset;
    while at < end {
        let stop = end.min((at / ROW_BYTES + 1) * ROW_BYTES);
        let x = LEFT + (at % ROW_BYTES) as f64 * side;
        let top = (at / ROW_BYTES) as f64 * ROW_HEIGHT + 14.0;
        picture.cell(class, (x, top), ((stop - at) as f64 * side, ROW_HEIGHT - 4.0), &told);
        if stop - at > longest.0 {
            longest = (stop - at, x, top);
        }
        at = stop;
    }
    let (room, x, top) = longest;
    let words = fitted(&field.name, room as f64 * side - 6.0);
    picture.text(&format!("soft {ink}"), x + 3.0, top + 17.5, words);
}

/// As many words of a name as have room, a letter taken for 7 units; the first letters of its first word where none has.
fn fitted(name: &str, room: f64) -> String {
    let letters = (room / 7.0).max(1.0) as usize;
    let mut text = String::new();
    for word in name.split(' ') {
        let longer = text.len() + usize::from(!text.is_empty()) + word.len();
        if longer > letters {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    match text.is_empty() {
        true => name.chars().take(letters).collect(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_over_the_end_of_a_row_is_two_boxes_with_one_name() {
        let field = |offset, bytes, name: &str| Field {
            offset,
            bytes,
            name: name.into(),
        };
        let drawn = byte_map(
            "X",
            &[field(0, 2, "kind"), field(12, 10, "LSN of the first record")],
            32,
        );
        assert_eq!(drawn.matches("<rect class=\"cell hot\"").count(), 2);
        assert_eq!(drawn.matches("<text class=\"soft on-hot\"").count(), 1);
        assert!(drawn.contains("0x0c, 10 bytes: LSN of the first record"), "{drawn}");
        assert_eq!(
            [fitted("reserved bytes", 100.0), fitted("reserved", 22.0)],
            ["reserved bytes", "res"]
        );
    }
}
