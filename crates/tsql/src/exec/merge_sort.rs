//! A stable sort that can be cancelled: the library sorts short runs, neighbouring runs are then merged, and every element counts as a
//! step.
//!
//! ```text
//! | sorted | sorted | sorted | sorted | ..     stretches of 16,384
//! |     merged      |     merged      | ..     the left neighbour moves to the scratch, both come back in order
//! ```
//! Runs that are already in order cost one comparison for each pair. The scratch space holds at most half of the elements.

use std::cmp::Ordering;

use engine::cancel;
use engine::error::Result;

/// Sorted in a few milliseconds.
const STRETCH: usize = 16_384;

/// Sorts `items`.
///
/// # Errors
/// 3617 when the request is to stop; the order, and whether every element is still there, is then anyone's guess.
pub(super) fn sort<T: Copy>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) -> Result<()> {
    for stretch in items.chunks_mut(STRETCH) {
        cancel::look()?;
        stretch.sort_by(&compare);
    }
    let mut scratch = Vec::new();
    let mut length = STRETCH;
    while length < items.len() {
        for pair in items.chunks_mut(2 * length) {
            if pair.len() > length {
                merge(pair, length, &mut scratch, &compare)?;
            }
        }
        length *= 2;
    }
    Ok(())
}

/// Merges what lies before `middle` with what lies behind it; both are in order.
fn merge<T: Copy>(
    items: &mut [T],
    middle: usize,
    scratch: &mut Vec<T>,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Result<()> {
    if compare(&items[middle - 1], &items[middle]).is_le() {
        return cancel::spend(1);
    }
    scratch.clear();
    scratch.extend_from_slice(&items[..middle]);
    let (mut left, mut right, mut next) = (0, middle, 0);
    while left < scratch.len() && right < items.len() {
        cancel::spend(1)?;
        if compare(&items[right], &scratch[left]).is_lt() {
            items[next] = items[right];
            right += 1;
        } else {
            items[next] = scratch[left];
            left += 1;
        }
        next += 1;
    }
    // What is left of the right side is in its place.
    let rest = &scratch[left..];
    items[next..next + rest.len()].copy_from_slice(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn shuffled(count: u64) -> Vec<(u64, u64)> {
        let number = |index: u64| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % 1_000;
        (0..count).map(|index| (number(index), index)).collect()
    }

    #[test]
    fn every_length_is_sorted_as_the_library_sorts_it() {
        let stretch = STRETCH as u64;
        for count in [
            0,
            1,
            2,
            stretch,
            stretch + 1,
            2 * stretch,
            2 * stretch + 1,
            5 * stretch + 7,
        ] {
            let mut items = shuffled(count);
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            sort(&mut items, |left, right| left.0.cmp(&right.0)).unwrap();
            assert_eq!(items, expected, "{count}");
            sort(&mut items, |left, right| left.0.cmp(&right.0)).unwrap();
            assert_eq!(items, expected, "{count}, in order already");
        }
    }

    /// A comparison sort of all rows at once cannot be left: ten million rows went on for seconds after an ATTENTION.
    #[test]
    fn it_stops_when_asked_to_in_the_middle() {
        let flag = Arc::new(AtomicBool::new(false));
        let _serving = cancel::serve(Some(flag.clone()));
        let mut items = shuffled(8 * STRETCH as u64);
        let whole = std::cell::Cell::new(0u64);
        sort(&mut items.clone(), |left, right| {
            whole.set(whole.get() + 1);
            left.cmp(right)
        })
        .unwrap();
        let compared = std::cell::Cell::new(0u64);
        let error = sort(&mut items, |left, right| {
            compared.set(compared.get() + 1);
            if compared.get() == whole.get() / 2 {
                flag.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            left.cmp(right)
        })
        .unwrap_err();
        assert_eq!(error.number, 3617);
        assert!(
            compared.get() < whole.get() * 3 / 4,
            "{} of {}",
            compared.get(),
            whole.get()
        );
    }
}
