//! Following the log from where the directory knew it to where it is: which VLFs were entered since.
//!
//! The directory is true for one moment: it says which VLFs were free then and which one was entered last. The log enters the
//! first free VLF physically behind the one it leaves, wrapping at the end (SQL Server docs, transaction log architecture
//! guide), and frees VLFs in the order of their sequence numbers. So only few headers can hold the next sequence number:
//!
//! | the next VLF in physical order | was | is now | then |
//! |---|---|---|---|
//! | known to the directory | free | entered next | go on from there |
//! | | free | as it was | the log ends: nothing skips a free VLF |
//! | | needed | entered next | everything older is free as well; go on from there |
//! | | needed | as it was | look further |
//! | | needed, and one passed on the way was older | | cannot be next (the older one would be free, and nearer): look further |
//! | | free or needed | entered later | look further |
//! | | free or needed | of an older use than the directory says | not trusted |
//! | added by a growth since | | entered next | go on from there |
//! | | | never used, or entered later | look further: it may be younger than the step asked for |
//! | at the end: a VLF that was entered later | | | not trusted |
//!
//! In a log that goes round without jumps one header beyond the entered VLFs is looked at. Not trusted means: the directory
//! describes another log, or the log went all round since; every header is read then.

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

/// Where the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The VLF at this index was entered next.
    Entered(usize),
    End,
    NotTrusted,
}

/// Finds the VLFs entered after `last`, in physical order given by `known`; `needed` = the oldest sequence the directory
/// calls needed. Takes over what it finds into `known` and by `took(index, header)`. `Ok(None)` = not trusted.
pub(super) fn follow<E>(
    known: &mut [Known],
    needed: u32,
    last: u32,
    mut probe: impl FnMut(usize) -> Result<VlfHeader, E>,
    mut took: impl FnMut(usize, VlfHeader),
) -> Result<Option<u32>, E> {
    let Some(mut at) = known.iter().position(|vlf| vlf.sequence == last) else {
        return Ok(None);
    };
    let (mut last, mut needed) = (last, needed);
    loop {
        match next(known, at, last, needed, &mut probe, &mut took)? {
            (Step::Entered(index), replaced) => {
                needed = needed.max(replaced.saturating_add(1));
                (at, last) = (index, last + 1);
            }
            (Step::End, _) => break,
            (Step::NotTrusted, _) => return Ok(None),
        }
    }
    let newest = known.iter().map(|vlf| vlf.sequence).max();
    Ok((newest == Some(last)).then_some(last))
}

/// One step of the table; with the sequence the entered VLF had before.
fn next<E>(
    known: &mut [Known],
    at: usize,
    last: u32,
    needed: u32,
    probe: &mut impl FnMut(usize) -> Result<VlfHeader, E>,
    took: &mut impl FnMut(usize, VlfHeader),
) -> Result<(Step, u32), E> {
    let Some(wanted) = last.checked_add(1) else {
        return Ok((Step::End, 0));
    };
    let mut oldest_passed = u32::MAX;
    for index in (at + 1..known.len()).chain(0..at) {
        let Some(vlf) = known.get_mut(index) else { continue };
        let was = vlf.sequence;
        if vlf.source == Source::Directory {
            if was >= oldest_passed {
                continue;
            }
            let header = probe(index)?;
            vlf.source = Source::Header;
            vlf.sequence = header.sequence.0;
            took(index, header);
            if vlf.sequence == wanted {
                return Ok((Step::Entered(index), was));
            }
            if vlf.sequence != was && vlf.sequence < wanted {
                return Ok((Step::NotTrusted, 0));
            }
        }
        match (vlf.sequence, vlf.source) {
            (sequence, _) if sequence == wanted => return Ok((Step::Entered(index), 0)),
            // Entered later, or too young to be passed by.
            (sequence, _) if sequence > wanted => {}
            (0, Source::Added) => {}
            (sequence, _) if sequence < needed => return Ok((Step::End, 0)),
            (sequence, _) => oldest_passed = oldest_passed.min(sequence),
        }
    }
    Ok((Step::End, 0))
}
