//! Where a forward reader of the log stops before the log is resumed, and when stopping there would lose acknowledged log.
//!
//! Blocks are checked as `vlf::tail` describes; each must name its predecessor's length and CRC. When the block at the reader's position in
//! VLF `s` does not fit, the log after it decides. Several writes are in flight at once, so a sound block after a hole proves nothing by
//! itself. But each write records how far the log was durable when it was prepared ([`super::flight`]), in two places:
//!
//! - in its first block ([`vlf::block::FLAG_WRITE_START`])
//! - in the header of every VLF it enters ([`vlf::VlfHeader::durable_before`])
//!
//! The reader compares its own position with the highest durable position recorded anywhere after it. Each write records at least that the
//! write [`WRITES_MAX`] before it was durable. So later writes cover everything acknowledged, and the reader need look ahead no further
//! than that many writes reach.
//!
//! **Leftovers.** Writes interrupted by an earlier stop record only what was durable before that stop. The log ended there or later, so no
//! leftover ever records a position after a later end, and none follows a later block.
//!
//! Reading somewhere in VLF `s`:
//!
//! | at the place | was durable | `s + 1` entered | then |
//! |---|---|---|---|
//! | torn, or reading began here | no more than what is before it | - | the log ends here |
//! | | more | - | damage: 9004 |
//! | no block | no more than what is before it | no | the log ends here |
//! | | something behind it in `s` | - | damage: 9004 |
//! | | all of `s`, and perhaps more | no | damage: 9004 |
//! | | all of `s`, and perhaps more; or no more than what is before it | yes | go on in `s + 1` |
//!
//! Continuing from the previous VLF, at the first block of `s`. That block cannot be a leftover: after a restart, it is cleared in the VLFs
//! that are entered first.
//!
//! | at the place | was durable | then |
//! |---|---|---|
//! | anything | no more than what was read | the log ends where the reader left the previous VLF |
//! | | more, but not all of the VLF before | damage: 9004 |
//! | none, or torn | all of the VLF before, and nothing of `s` | the log ends at the start of `s` |
//! | sound, names another predecessor | the same: that one was durable | damage: 9004 |
//! | anything | something of `s` | damage: 9004 |
//!
//! **After a power cut.** Anything left after the end of the log is made harmless before the log continues: zeros are written over the
//! range that the interrupted writes can reach in the VLF, headers of VLFs that they entered are rewritten as unused
//! ([`super::LogManager::resume`]), and in the VLFs entered first after startup the place of the first block is cleared.

#[cfg(doc)]
use super::flight::WRITES_MAX;

/// What is known about a place where no block fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Evidence {
    /// What lies there.
    pub(super) found: Found,
    /// Where the reader comes from.
    pub(super) reached: Reached,
    /// How far the log was durable, by all that lies behind the place.
    pub(super) durable: Durable,
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
    /// From the VLF before, to the first block of this one.
    First,
}

/// How far the log was durable, seen from the reader's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durable {
    /// No further than what was read.
    AsRead,
    /// Further, in the VLF before that of the place, from which the reader came.
    InVlfBefore,
    /// To the end of the VLF before: the begin of the place's VLF.
    ToStartOfVlf,
    /// Behind the place, in its VLF.
    Here,
    /// To the end of the place's VLF, and perhaps further.
    Beyond,
}

/// What the reader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// 9004.
    Damage,
    /// Goes on in the next VLF.
    GoOn,
    /// The log ends here.
    EndHere,
    /// The log ends where the VLF before was left.
    EndWhereLeft,
}

/// The tables of the module.
pub(super) fn judge(evidence: Evidence) -> Then {
    let Evidence {
        found,
        reached,
        durable,
        next_entered,
    } = evidence;
    match (reached, found, durable) {
        (Reached::Began, _, Durable::AsRead) | (Reached::Inside, Found::Torn, Durable::AsRead) => Then::EndHere,
        (Reached::Began, ..) | (Reached::Inside, Found::Torn, _) => Then::Damage,
        (Reached::Inside, _, Durable::AsRead | Durable::Beyond) if next_entered => Then::GoOn,
        (Reached::Inside, _, Durable::AsRead) => Then::EndHere,
        (Reached::First, _, Durable::AsRead) => Then::EndWhereLeft,
        (Reached::First, Found::NoBlock | Found::Torn, Durable::ToStartOfVlf) => Then::EndHere,
        (Reached::Inside | Reached::First, ..) => Then::Damage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUND: [Found; 3] = [Found::NoBlock, Found::OtherPredecessor, Found::Torn];
    const REACHED: [Reached; 3] = [Reached::Began, Reached::Inside, Reached::First];
    const DURABLE: [Durable; 5] = [
        Durable::AsRead,
        Durable::InVlfBefore,
        Durable::ToStartOfVlf,
        Durable::Here,
        Durable::Beyond,
    ];

    fn combinations() -> impl Iterator<Item = Evidence> {
        let of_found = |found| REACHED.map(|reached| (found, reached));
        let with_durable = |(found, reached)| DURABLE.map(|durable| (found, reached, durable));
        let whole = |(found, reached, durable)| {
            [false, true].map(|next_entered| Evidence {
                found,
                reached,
                durable,
                next_entered,
            })
        };
        FOUND
            .into_iter()
            .flat_map(of_found)
            .flat_map(with_durable)
            .flat_map(whole)
    }

    /// Every combination of evidence is judged so that nothing durable is given up: the log ends no earlier than where it was
    /// durable, or it goes on to blocks that must then fit; and it is never called damaged where nothing durable is missing.
    #[test]
    fn no_combination_gives_up_what_was_durable() {
        let (mut damages, mut ends, mut all) = (0, 0, 0);
        for evidence in combinations() {
            let then = judge(evidence);
            let Evidence {
                found,
                reached,
                durable,
                ..
            } = evidence;
            let ends_no_earlier = match then {
                Then::EndWhereLeft => durable == Durable::AsRead && reached == Reached::First,
                Then::EndHere if reached == Reached::First => durable == Durable::ToStartOfVlf,
                Then::EndHere => durable == Durable::AsRead,
                Then::GoOn => {
                    evidence.next_entered
                        && reached == Reached::Inside
                        && found != Found::Torn
                        && durable != Durable::Here
                }
                Then::Damage => durable != Durable::AsRead,
            };
            assert!(ends_no_earlier, "{evidence:?}: {then:?}");
            damages += usize::from(then == Then::Damage);
            ends += usize::from(matches!(then, Then::EndHere | Then::EndWhereLeft));
            all += 1;
        }
        assert_eq!((all, damages, ends), (90, 66, 20));
    }
}
