//! Lists of numbers as runs: `[first, count, step]` stands for `first, first + step, ...`. The sizes of a file's VLFs are a handful of
//! runs, and so are its sequences, so a log of 126,399 VLFs takes some hundred bytes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs(Vec<Run>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u64,
    count: u64,
    /// 0 or 1.
    step: u64,
}

/// More numbers than a list has; what is read from a file is held to it. A file of 2 TB has room for 8.6 million VLFs.
const NUMBERS_MAX: u64 = 10_000_000;

impl Runs {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many numbers.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|run| run.count).sum()
    }

    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        let of_run = |run: &Run| {
            let Run { first, count, step } = *run;
            (0..count).map(move |index| first.saturating_add(index * step))
        };
        self.0.iter().flat_map(of_run)
    }

    fn push(&mut self, number: u64) {
        if let Some(last) = self.0.last_mut() {
            if last.count == 1 && (number == last.first || last.first.checked_add(1) == Some(number)) {
                last.step = number - last.first;
                last.count = 2;
                return;
            }
            if last.count > 1 && last.first.checked_add(last.count * last.step) == Some(number) {
                last.count += 1;
                return;
            }
        }
        self.0.push(Run {
            first: number,
            count: 1,
            step: 0,
        });
    }
}

impl FromIterator<u64> for Runs {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Runs {
        let mut runs = Runs::default();
        numbers.into_iter().for_each(|number| runs.push(number));
        runs
    }
}

impl Serialize for Runs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|run| (run.first, run.count, run.step)))
    }
}

impl<'de> Deserialize<'de> for Runs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Runs, D::Error> {
        let runs = Vec::<(u64, u64, u64)>::deserialize(deserializer)?;
        let mut left = NUMBERS_MAX;
        for (_, count, step) in &runs {
            left = left
                .checked_sub(*count)
                .filter(|_| *step <= 1)
                .ok_or_else(|| serde::de::Error::custom("a list of numbers that no log has"))?;
        }
        let run = |(first, count, step)| Run { first, count, step };
        Ok(Runs(runs.into_iter().map(run).collect()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out() {
        let lists: [&[u64]; 6] = [
            &[],
            &[7],
            &[1, 2, 3, 3, 3, 4, 5],
            &[5, 4, 3],
            &[0, 0, 1, 1, 2],
            &[u64::MAX, u64::MAX, 0],
        ];
        for list in lists {
            let runs: Runs = list.iter().copied().collect();
            assert_eq!(runs.values().collect::<Vec<_>>(), list);
            assert_eq!(runs.len(), list.len() as u64);
            let text = serde_json::to_string(&runs).unwrap();
            assert_eq!(serde_json::from_str::<Runs>(&text).unwrap(), runs);
        }
    }

    #[test]
    fn a_log_of_many_vlfs_is_short_and_a_list_without_end_is_refused() {
        let runs: Runs = (1..=126_399).collect();
        assert_eq!(serde_json::to_string(&runs).unwrap(), "[[1,126399,1]]");
        for text in ["[[1,99999999999,0]]", "[[1,2,5]]", "[[1,9999999,0],[1,9999999,0]]"] {
            assert!(serde_json::from_str::<Runs>(text).is_err(), "{text}");
        }
    }
}
