//! The history of a log's VLFs: the growth that made each, and its create LSN.
//!
//! VLFs of one growth share a create LSN. For our own files more is known: page 0 lists the growths of its VLFs step by step, including
//! VLFs that were never entered and whose create LSN it has dropped.

use std::collections::BTreeMap;

use vlf::growth::{create_layout, grow_layout};
use vlf::{FIRST_VLF_OFFSET, FileHeader, FileSurvey, Lsn, ServerVersion, VlfHeader, VlfSpan};

use super::{GrowthEvent, InspectedVlf, PageZero, VlfState};

/// The VLFs of a file with the growths that made them, oldest first. `recorded` has create LSNs that the file does not know.
pub(super) fn of_vlfs(
    found: &FileSurvey,
    page_zero: &PageZero,
    recorded: &BTreeMap<u64, Lsn>,
) -> (Vec<InspectedVlf>, Vec<GrowthEvent>) {
    let page = match page_zero {
        PageZero::Vlflab(page) => Some(page),
        PageZero::SqlServer | PageZero::Damaged(_) => None,
    };
    let mut steps = Steps::of(page);
    let mut vlfs = Vec::with_capacity(found.vlfs.len());
    let mut growths: Vec<GrowthEvent> = Vec::new();
    let mut group: Vec<VlfSpan> = Vec::new();
    let mut group_lsn: Option<Lsn> = None;
    let mut former: Option<(Option<u64>, Option<Lsn>)> = None;
    for header in &found.vlfs {
        let step = steps.step_of(header.start_offset);
        let create_lsn = match forgotten(page, header, step) {
            true => recorded.get(&header.start_offset).copied(),
            false => Some(header.create_lsn),
        };
        // A listed VLF's step says whose it is, whatever its create LSN.
        let is_same = former.is_some_and(|(former_step, former_lsn)| match (former_step, step) {
            (Some(former), Some(step)) => former == step,
            (None, None) => former_lsn == create_lsn,
            _ => false,
        });
        if !is_same && !group.is_empty() {
            growths.extend(event_of(&group, group_lsn.take(), growths.is_empty()));
            group.clear();
        }
        former = Some((step, create_lsn));
        group_lsn = group_lsn.or(create_lsn);
        group.push(header.span());
        vlfs.push(InspectedVlf {
            header: *header,
            create_lsn,
            growth: u32::try_from(growths.len()).unwrap_or(u32::MAX),
            state: if header.is_used() {
                VlfState::Old
            } else {
                VlfState::Unused
            },
            blocks: 0,
            records: 0,
            block_bytes: 0,
            damaged: header.span().end() > found.file_bytes,
        });
    }
    growths.extend(event_of(&group, group_lsn, growths.is_empty()));
    (vlfs, growths)
}

/// Whether the create LSN of a VLF is no longer in the file: 0 is what the creation of the file leaves, which is the first step.
fn forgotten(page: Option<&FileHeader>, header: &VlfHeader, step: Option<u64>) -> bool {
    let has_none = page.is_some_and(|page| page.headers_when_entered);
    has_none && !header.is_used() && header.create_lsn == Lsn::ZERO && step.is_some_and(|step| step > 0)
}

/// The steps that page 0 lists, each asked for its VLFs in file order.
struct Steps<'p> {
    listed: Box<dyn Iterator<Item = (u64, u64)> + 'p>,
    current: Option<(u64, u64)>,
}

impl<'p> Steps<'p> {
    fn of(page: Option<&'p FileHeader>) -> Steps<'p> {
        let sound = page.filter(|page| page.named().is_some());
        let runs = sound.into_iter().flat_map(|page| &page.runs);
        let steps = runs.flat_map(|run| {
            let step_bytes = run.checked_bytes().map_or(0, |bytes| bytes / u64::from(run.repeat));
            (0..run.repeat).map(move |_| step_bytes)
        });
        let ends = steps.scan(FIRST_VLF_OFFSET, |end, step_bytes| {
            *end = end.saturating_add(step_bytes);
            Some(*end)
        });
        let mut listed = Box::new((0u64..).zip(ends));
        let current = listed.next();
        Steps { listed, current }
    }

    /// The step that made the VLF at `offset`; `None` behind what is listed. Offsets rise from call to call.
    fn step_of(&mut self, offset: u64) -> Option<u64> {
        while self.current.is_some_and(|(_, end)| end <= offset) {
            self.current = self.listed.next();
        }
        self.current.map(|(step, _)| step)
    }
}

/// The growth that made the VLFs of `group`.
fn event_of(group: &[VlfSpan], create_lsn: Option<Lsn>, is_first: bool) -> Option<GrowthEvent> {
    let (first, last) = (group.first()?, group.last()?);
    let created = is_first && first.offset == FIRST_VLF_OFFSET;
    let (before, after) = (if created { 0 } else { first.offset }, last.end());
    let made_by = |version: &ServerVersion| {
        let spans = match created {
            true => create_layout(*version, after),
            false => grow_layout(*version, before, after - before),
        };
        spans.is_ok_and(|spans| spans.as_slice() == group)
    };
    Some(GrowthEvent {
        create_lsn,
        file_bytes_before: before,
        file_bytes_after: after,
        vlf_count: group.len(),
        versions: ServerVersion::ALL.into_iter().filter(made_by).collect(),
    })
}
