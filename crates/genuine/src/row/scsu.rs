//! Unicode text of compressed rows: the Standard Compression Scheme for Unicode (Unicode Technical Standard #6).
//!
//! Compressed text of an even number of bytes is UTF-16; of an odd number, SCSU. SQL Server makes the number odd by a byte behind the text,
//! so a last byte from which nothing follows is left out (inferred from rows of SQL Server 2008 to 2022, in public notes on them).

use crate::bytes::utf16_text;

/// Where the eight static windows begin.
const STATIC_WINDOWS: [u32; 8] = [0x0000, 0x0080, 0x0100, 0x0300, 0x2000, 0x2080, 0x2100, 0x3000];
/// Where the eight dynamic windows begin until the text moves them.
const DYNAMIC_WINDOWS: [u32; 8] = [0x0080, 0x00C0, 0x0400, 0x0600, 0x0900, 0x3040, 0x30A0, 0xFF00];
/// Beginnings of windows that are named by the bytes from 0xF9 on.
const NAMED_WINDOWS: [u32; 7] = [0x00C0, 0x0250, 0x0370, 0x0530, 0x3040, 0x30A0, 0xFF60];

/// Unicode text of a compressed row.
///
/// # Errors
/// A clause: the bytes are no SCSU.
pub fn compressed_text(bytes: &[u8]) -> Result<String, String> {
    match bytes.len() % 2 {
        0 => Ok(utf16_text(bytes)),
        _ => Decoder::new(bytes).decode(),
    }
}

struct Decoder<'b> {
    bytes: std::slice::Iter<'b, u8>,
    units: Vec<u16>,
    windows: [u32; 8],
    active: usize,
    is_unicode_mode: bool,
}

/// The text ended within a command: what is left of it is the byte that makes the number odd.
struct Ended;

impl<'b> Decoder<'b> {
    fn new(bytes: &'b [u8]) -> Decoder<'b> {
        Decoder {
            bytes: bytes.iter(),
            units: Vec::with_capacity(bytes.len()),
            windows: DYNAMIC_WINDOWS,
            active: 0,
            is_unicode_mode: false,
        }
    }

    fn decode(mut self) -> Result<String, String> {
        while let Some(byte) = self.bytes.next().copied() {
            let step = match self.is_unicode_mode {
                true => self.unicode(byte)?,
                false => self.single(byte)?,
            };
            if let Err(Ended) = step {
                break;
            }
        }
        Ok(char::decode_utf16(self.units)
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect())
    }

    fn single(&mut self, byte: u8) -> Result<Result<(), Ended>, String> {
        match byte {
            0x01..=0x08 => return Ok(self.quote(usize::from(byte - 1))),
            0x0B => return Ok(self.define_extended()),
            0x0C => return Err("its text has the reserved byte 0x0C".to_owned()),
            0x0E => return Ok(self.quote_unit()),
            0x0F => self.is_unicode_mode = true,
            0x10..=0x17 => self.active = usize::from(byte - 0x10),
            0x18..=0x1F => return self.define(usize::from(byte - 0x18)),
            0x00..=0x7F => self.units.push(u16::from(byte)),
            0x80..=0xFF => self.push(self.windows[self.active] + u32::from(byte - 0x80)),
        }
        Ok(Ok(()))
    }

    fn unicode(&mut self, byte: u8) -> Result<Result<(), Ended>, String> {
        match byte {
            0xE0..=0xE7 => {
                self.active = usize::from(byte - 0xE0);
                self.is_unicode_mode = false;
            }
            0xE8..=0xEF => {
                self.is_unicode_mode = false;
                return self.define(usize::from(byte - 0xE8));
            }
            0xF0 => return Ok(self.quote_unit()),
            0xF1 => {
                self.is_unicode_mode = false;
                return Ok(self.define_extended());
            }
            0xF2 => return Err("its text has the reserved byte 0xF2".to_owned()),
            high => {
                let low = match self.operand() {
                    Ok(low) => low,
                    Err(ended) => return Ok(Err(ended)),
                };
                self.units.push(u16::from_be_bytes([high, low]));
            }
        }
        Ok(Ok(()))
    }

    fn operand(&mut self) -> Result<u8, Ended> {
        self.bytes.next().copied().ok_or(Ended)
    }

    fn quote(&mut self, window: usize) -> Result<(), Ended> {
        let byte = u32::from(self.operand()?);
        match byte {
            0x80.. => self.push(self.windows[window] + byte - 0x80),
            _ => self.push(STATIC_WINDOWS[window] + byte),
        }
        Ok(())
    }

    fn quote_unit(&mut self) -> Result<(), Ended> {
        let unit = u16::from_be_bytes([self.operand()?, self.operand()?]);
        self.units.push(unit);
        Ok(())
    }

    fn define(&mut self, window: usize) -> Result<Result<(), Ended>, String> {
        let Ok(byte) = self.operand() else {
            return Ok(Err(Ended));
        };
        let start = match byte {
            0x01..=0x67 => u32::from(byte) * 0x80,
            0x68..=0xA7 => u32::from(byte) * 0x80 + 0xAC00,
            0xF9..=0xFF => NAMED_WINDOWS[usize::from(byte - 0xF9)],
            _ => return Err(format!("its text defines a window by the reserved byte 0x{byte:02X}")),
        };
        self.windows[window] = start;
        self.active = window;
        Ok(Ok(()))
    }

    fn define_extended(&mut self) -> Result<(), Ended> {
        let word = u16::from_be_bytes([self.operand()?, self.operand()?]);
        let window = usize::from(word >> 13);
        self.windows[window] = 0x1_0000 + u32::from(word & 0x1FFF) * 0x80;
        self.active = window;
        Ok(())
    }

    fn push(&mut self, code: u32) {
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut units = [0; 2];
        self.units.extend_from_slice(character.encode_utf16(&mut units));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::compressed_text;

    /// The examples of the standard, section 9.
    #[test]
    fn the_standards_examples_decode() {
        let german = [0xD6, 0x6C, 0x20, 0x66, 0x6C, 0x69, 0x65, 0xDF, 0x74];
        assert_eq!(compressed_text(&german).unwrap(), "Öl fließt");
        let russian = [0x12, 0x9C, 0xBE, 0xC1, 0xBA, 0xB2, 0xB0];
        assert_eq!(compressed_text(&russian).unwrap(), "Москва");
    }

    #[test]
    fn a_last_byte_that_stands_for_nothing_is_left_out() {
        assert_eq!(compressed_text(b"ab\x10").unwrap(), "ab");
        assert_eq!(compressed_text(&[0x0F, 0x4E, 0x2D, 0x65, 0x87]).unwrap(), "中文");
        assert_eq!(compressed_text(&[0x0F, 0x4E, 0x2D, 0xF0, 0x4E]).unwrap(), "中");
        assert_eq!(compressed_text(&[0x0B, 0x00, 0x00, 0x80, 0x10]).unwrap(), "\u{10000}");
        assert!(compressed_text(&[0x18, 0xC0, 0x41]).is_err());
        assert!(compressed_text(&[0x0F, 0xF2, 0x41]).is_err());
    }

    #[test]
    fn an_even_number_of_bytes_is_utf_16() {
        assert_eq!(compressed_text(&[0x41, 0, 0x16, 0x04]).unwrap(), "AЖ");
    }
}
