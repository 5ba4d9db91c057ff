//! Following the log from where the directory left off: which VLFs were entered since.
//!
//! The directory describes one moment: the order of the VLFs in the ring, and the VLF that was entered last. The log always enters the VLF
//! that was used longest ago ([`super::table`]). So among the VLFs in the directory, only one can hold the next sequence number:
//!
//! | VLF | its header | then |
//! |---|---|---|
//! | read already, or added by a later growth | entered next | continue from there |
//! | of the others, the first of the ring, known to the directory | entered next | continue from there |
//! | | as the directory says | the log ends |
//! | | anything else | not trusted |
//! | the same, read already | not entered since | the log ends |
//! | at the end: a VLF that was entered later | | not trusted |
//!
//! One header beyond the entered VLFs is read. "Not trusted" means that the directory describes another log, or that the log has wrapped
//! around completely since; then every header is read.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use vlf::VlfHeader;

/// What is known of one VLF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) sequence: u32,
    pub(super) source: Source,
}

/// Where that comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The directory: true at its moment.
    Directory,
    /// Its header, just read.
    Header,
    /// Its header, and the directory did not know it: a growth added it since.
    Added,
}

/// Finds the VLFs entered after `last`; `known` = all of them in the order of files and places. Takes over what it finds into
/// `known` and by `took(index, header)`. Answers the sequence entered last; `Ok(None)` = not trusted.
pub(super) fn follow<E>(
    known: &mut [Known],
    last: u32,
    mut probe: impl FnMut(usize) -> Result<VlfHeader, E>,
    mut took: impl FnMut(usize, VlfHeader),
) -> Result<Option<u32>, E> {
    if !known.iter().any(|vlf| vlf.sequence == last) {
        return Ok(None);
    }
    let mut ring = Ring::of(known, last);
    let mut last = last;
    while let Some(wanted) = last.checked_add(1) {
        if !ring.entered.contains(&wanted) {
            let Some(Reverse((was, index))) = ring.known.pop() else {
                break;
            };
            if known[index].source != Source::Directory {
                break;
            }
            let header = probe(index)?;
            let sequence = header.sequence.0;
            known[index] = Known {
                sequence,
                source: Source::Header,
            };
            took(index, header);
            if sequence == was {
                break;
            }
            if sequence != wanted {
                return Ok(None);
            }
        }
        last = wanted;
    }
    let newest = known.iter().map(|vlf| vlf.sequence).max();
    Ok((newest == Some(last)).then_some(last))
}

/// The VLFs in the order in which the log comes to them.
struct Ring {
    /// Sequence and index of those of which nothing says that they were entered since, the one used longest ago first.
    known: BinaryHeap<Reverse<(u32, usize)>>,
    /// Sequences of those whose headers were read and say that they were.
    entered: HashSet<u32>,
}

impl Ring {
    fn of(known: &[Known], last: u32) -> Ring {
        let indexed = known.iter().enumerate();
        let is_old = |vlf: &Known| vlf.source != Source::Added && vlf.sequence <= last;
        let is_entered = |vlf: &&Known| vlf.source != Source::Directory && vlf.sequence > last;
        Ring {
            known: indexed
                .filter(|(_, vlf)| is_old(vlf))
                .map(|(index, vlf)| Reverse((vlf.sequence, index)))
                .collect(),
            entered: known.iter().filter(is_entered).map(|vlf| vlf.sequence).collect(),
        }
    }
}
