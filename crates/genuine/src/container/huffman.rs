//! LZ77 with Huffman codes, as MS-XCA describes it (2.1 and 2.2): the algorithm MS_XPRESS of compressed backups.
//!
//! ```text
//! 0                                    256
//! +------------------------------------+--------------------------------------------------------+
//! | 512 code lengths of 4 bits,        | words of 16 bits, their bits from the highest on,      |
//! | the even symbol's in the low half  | with bytes for long lengths between them               |
//! +------------------------------------+--------------------------------------------------------+
//! ```
//!
//! Codes are canonical: shorter ones first, then by symbol. Symbols 0 to 255 are bytes. Symbol `256 + 16 d + n` is a copy: `d` bits behind the
//! code are the low bits of the distance, whose highest bit is `1 << d`, and the length is `n + 3`. With `n` = 15 a byte follows that is
//! added; if it is 255, a u16 follows in place of the sum before 3 is added; if that is 0, a u32. These bytes lie at the reader's place in
//! the input, which is two words ahead of the bits.
//!
//! Whatever the input is, the decoder writes at most as many bytes as it is asked for and reads none behind its input.

use crate::bytes::{u16_at, u32_at};

/// Bytes of the code lengths.
pub const TABLE_BYTES: usize = 256;
const SYMBOLS: usize = 512;
const CODE_BITS_MAX: u32 = 15;
/// Output of one table.
const PIECE_BYTES: usize = 65_536;

/// Why a chunk cannot be expanded.
pub type Reason = &'static str;

const CUT: Reason = "it ends before its output is complete";

/// What `input` expands to: `output_bytes`, at most 65,536, which one table covers.
///
/// # Errors
/// The code lengths are no code, a copy reaches before the output, or the input ends too early.
pub fn expand(input: &[u8], output_bytes: usize) -> Result<Vec<u8>, Reason> {
    if output_bytes > PIECE_BYTES {
        return Err("it says that it has more than 65,536 bytes");
    }
    let mut table = vec![0; 1 << CODE_BITS_MAX];
    fill_table(input.get(..TABLE_BYTES).ok_or(CUT)?, &mut table)?;
    let mut output = Vec::with_capacity(output_bytes);
    expand_piece(input, &table, &mut output, output_bytes)?;
    Ok(output)
}

/// Whether 512 lengths are those of a whole code: every sequence of bits begins with just one code of it.
pub fn is_code(lengths: &[u8]) -> bool {
    let codes = lengths
        .iter()
        .flat_map(|byte| [byte & 15, byte >> 4])
        .filter(|length| *length > 0)
        .map(|length| 1u32 << (CODE_BITS_MAX - u32::from(length)));
    codes.sum::<u32>() == 1 << CODE_BITS_MAX
}

/// For each 15 bits, the symbol whose code they begin with, and its length in the upper bits.
fn fill_table(lengths: &[u8], table: &mut [u16]) -> Result<(), Reason> {
    let length_of = |symbol: usize| {
        let byte = lengths.get(symbol / 2).copied().unwrap_or(0);
        u32::from(byte >> (4 * (symbol % 2)) & 15)
    };
    let mut filled = 0;
    for length in 1..=CODE_BITS_MAX {
        for symbol in (0..SYMBOLS).filter(|symbol| length_of(*symbol) == length) {
            let end = filled + (1usize << (CODE_BITS_MAX - length));
            let entries = table
                .get_mut(filled..end)
                .ok_or("its code lengths are more than a code has")?;
            // A symbol has 9 bits; a length of 1 to 15 fits above them.
            entries.fill(symbol as u16 | (length as u16) << 9);
            filled = end;
        }
    }
    match filled == table.len() {
        true => Ok(()),
        false => Err("its code lengths are less than a code has"),
    }
}

/// The bits of a piece: 32 of them at hand, of which at least 16 are valid.
struct Bits<'a> {
    input: &'a [u8],
    place: usize,
    held: u32,
    /// How many bits beyond 16 are valid.
    spare: i32,
}

impl<'a> Bits<'a> {
    fn new(input: &'a [u8], place: usize) -> Bits<'a> {
        let mut bits = Bits {
            input,
            place,
            held: 0,
            spare: 16,
        };
        bits.held = bits.word() << 16;
        bits.held |= bits.word();
        bits
    }

    /// The next word; behind the end of the input there are zeros, which the caller's end of output or of input ends.
    fn word(&mut self) -> u32 {
        let word = u16_at(self.input, self.place).unwrap_or(0);
        self.place += 2;
        u32::from(word)
    }

    fn peek(&self, count: u32) -> u32 {
        match count {
            0 => 0,
            _ => self.held >> (32 - count),
        }
    }

    fn skip(&mut self, count: u32) {
        self.held = self.held.checked_shl(count).unwrap_or(0);
        self.spare -= count as i32;
        if self.spare < 0 {
            let word = self.word();
            self.held |= word << (-self.spare) as u32;
            self.spare += 16;
        }
    }

    /// The rest of a length whose lowest part is 15.
    fn long_length(&mut self) -> Option<usize> {
        let byte = *self.input.get(self.place)?;
        self.place += 1;
        if byte < 255 {
            return Some(usize::from(byte) + 15);
        }
        let word = u16_at(self.input, self.place)?;
        self.place += 2;
        if word != 0 {
            return Some(usize::from(word));
        }
        let long = u32_at(self.input, self.place)?;
        self.place += 4;
        usize::try_from(long).ok()
    }
}

/// Expands up to `end` bytes of output.
fn expand_piece(input: &[u8], table: &[u16], output: &mut Vec<u8>, end: usize) -> Result<(), Reason> {
    let mut bits = Bits::new(input, TABLE_BYTES);
    while output.len() < end {
        // Two words are held ahead, so a sound piece never goes further than these behind its input.
        if bits.place > input.len() + 4 {
            return Err(CUT);
        }
        let entry = table.get(bits.peek(CODE_BITS_MAX) as usize).copied().unwrap_or(0);
        bits.skip(u32::from(entry >> 9));
        let symbol = entry & 0x1FF;
        if symbol < 256 {
            output.push(symbol as u8);
            continue;
        }
        let mut length = usize::from(symbol & 15);
        if length == 15 {
            length = bits.long_length().ok_or(CUT)?;
        }
        let distance_bits = u32::from(symbol >> 4 & 15);
        let distance = (1usize << distance_bits) + bits.peek(distance_bits) as usize;
        bits.skip(distance_bits);
        copy(output, distance, length.saturating_add(3), end)?;
    }
    Ok(())
}

/// Repeats `length` bytes from `distance` back, which may reach into what it writes, up to `end` bytes of output.
fn copy(output: &mut Vec<u8>, distance: usize, length: usize, end: usize) -> Result<(), Reason> {
    let from = output
        .len()
        .checked_sub(distance)
        .ok_or("a copy in it reaches before its output")?;
    let length = length.min(end - output.len());
    if distance >= length {
        output.extend_from_within(from..from + length);
        return Ok(());
    }
    output.reserve(length);
    for index in from..from + length {
        if let Some(byte) = output.get(index).copied() {
            output.push(byte);
        }
    }
    Ok(())
}
