//! Where a forward reader of the log stops before the log is resumed, and when stopping would lose what was promised.
//!
//! Blocks are checked as `vlf::tail` lists it; each must name its predecessor's length and CRC. When the block at the
//! reader's place in VLF `s` does not fit, what lies behind it decides. Writes are strictly in order, so whatever shows that
//! a *later write* began behind that place proves that the block had been durable, and is lost. Two things show it:
//!
//! - A header of one of the next VLFs says that its write began behind the place ([`vlf::VlfHeader::durable_before`]). A
//!   write enters few VLFs, so the header of the one after those always does.
//! - A block behind it, sound, of the same use, at its own place, and the first of its write
//!   ([`vlf::block::FLAG_WRITE_START`]). What an interrupted write leaves behind its torn block is never first of a write.
//!
//! Reading somewhere in VLF `s`:
//!
//! | at the place | headers show a later write | `s + 1` entered | a block shows one | then |
//! |---|---|---|---|---|
//! | torn, or reading began here | yes | - | - | damage: 9004 |
//! | | no | - | yes | damage: 9004 |
//! | | no | - | no | the log ends here |
//! | no block | one that began in `s` | - | - | damage: 9004 |
//! | | one that began behind `s`, or none | yes | - | go on in `s + 1` |
//! | | no | no | yes | damage: 9004 |
//! | | no | no | no | the log ends here |
//!
//! Reading on from the VLF before, at the first block of `s`. That place can be no left-over: the VLFs entered first after a
//! restart have it cleared. "With its header" = the write that carries the header of `s` began with it.
//!
//! | at the place | headers show a later write | began with its header | a block shows one | then |
//! |---|---|---|---|---|
//! | whatever | yes | - | - | damage: 9004 |
//! | sound, names another predecessor | no | yes | - | damage: 9004 |
//! | | no | no | yes | damage: 9004 |
//! | | no | no | no | the log ends where the VLF before was left |
//! | none, or torn | no | - | yes | damage: 9004 |
//! | | no | yes | no | the log ends at the start of `s` |
//! | | no | no | no | the log ends where the VLF before was left |

/// What is known about a place where no block fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Evidence {
    /// What lies there.
    pub(super) found: Found,
    /// Where the reader comes from.
    pub(super) reached: Reached,
    /// What the headers of the next VLFs show.
    pub(super) later_header: LaterHeader,
    /// The VLF of the next sequence was entered, as far as headers say.
    pub(super) next_entered: bool,
}

/// What lies at a place where no block fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing of this use.
    NoBlock,
    /// A sound block that names another predecessor.
    OtherPredecessor,
    /// Part of a block.
    Torn,
}

/// How the reader came to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    /// Reading began there.
    Began,
    /// From the block before in the same VLF, or in its unused rest.
    Inside,
    /// From the VLF before, to the first block of one whose header's write began with the header.
    FirstOfOwnWrite,
    /// From the VLF before, to the first block of one whose header's write began earlier.
    FirstOfJoinedWrite,
}

/// Whether a later write began behind a place, by headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaterHeader {
    /// Not as far as headers show.
    None,
    /// In the VLF of the place.
    Here,
    /// In a VLF behind it.
    Beyond,
}

/// What the reader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// 9004.
    Damage,
    /// Goes on in the next VLF.
    GoOn,
    /// The log ends here, unless a block shows a later write.
    EndHere,
    /// The log ends where the VLF before was left, unless a block shows a later write.
    EndWhereLeft,
}

/// The tables of the module.
pub(super) fn judge(evidence: Evidence) -> Then {
    let Evidence {
        found,
        reached,
        later_header,
        next_entered,
    } = evidence;
    let later = later_header != LaterHeader::None;
    match (reached, found) {
        (Reached::Began, _) | (Reached::Inside, Found::Torn) => match later {
            true => Then::Damage,
            false => Then::EndHere,
        },
        (Reached::Inside, _) => match (later_header, next_entered) {
            (LaterHeader::Here, _) | (LaterHeader::Beyond, false) => Then::Damage,
            (_, true) => Then::GoOn,
            (LaterHeader::None, false) => Then::EndHere,
        },
        _ if later => Then::Damage,
        (Reached::FirstOfOwnWrite, Found::OtherPredecessor) => Then::Damage,
        (Reached::FirstOfOwnWrite, _) => Then::EndHere,
        (Reached::FirstOfJoinedWrite, _) => Then::EndWhereLeft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of evidence is judged so that nothing durable is given up: where a later write is shown, the answer
    /// is damage, or going on to blocks that must then fit.
    #[test]
    fn no_combination_gives_up_what_a_later_write_proves() {
        let (mut damages, mut ends) = (0, 0);
        for found in [Found::NoBlock, Found::OtherPredecessor, Found::Torn] {
            for reached in [
                Reached::Began,
                Reached::Inside,
                Reached::FirstOfOwnWrite,
                Reached::FirstOfJoinedWrite,
            ] {
                for later_header in [LaterHeader::None, LaterHeader::Here, LaterHeader::Beyond] {
                    for next_entered in [false, true] {
                        let evidence = Evidence {
                            found,
                            reached,
                            later_header,
                            next_entered,
                        };
                        let then = judge(evidence);
                        let is_end = matches!(then, Then::EndHere | Then::EndWhereLeft);
                        damages += usize::from(then == Then::Damage);
                        ends += usize::from(is_end);
                        assert!(!is_end || later_header == LaterHeader::None, "{evidence:?}: {then:?}");
                        if then == Then::Damage && later_header == LaterHeader::None {
                            let is_lost = (found, reached) == (Found::OtherPredecessor, Reached::FirstOfOwnWrite);
                            assert!(is_lost, "{evidence:?} was never shown to be durable");
                        }
                        if then == Then::GoOn {
                            assert!(next_entered && reached == Reached::Inside && found != Found::Torn);
                        }
                        if then == Then::EndWhereLeft {
                            assert_eq!(reached, Reached::FirstOfJoinedWrite);
                        }
                    }
                }
            }
        }
        assert_eq!((damages, ends), (48, 20), "of 72");
    }
}
