//! Which part of a sweep this process has: `--shard I/N`, or what a scheduler of arrays says in the environment.
//!
//! | scheduler | variables | index, from 0 | shards |
//! |---|---|---|---|
//! | Kubernetes, Indexed Job | `JOB_COMPLETION_INDEX` | as it is | `--shards`: the job's `completions` |
//! | Slurm, array | `SLURM_ARRAY_TASK_ID`, `_MIN`, `_MAX`, `_STEP`, `_COUNT` | (id - min) / step; with `--shards` the id | of the array; or `--shards` |
//! | AWS Batch, array | `AWS_BATCH_JOB_ARRAY_INDEX`, `_SIZE` | as it is | `_SIZE`, or `--shards` |
//!
//! Sources: kubernetes.io "Indexed Job", slurm.schedmd.com/job_array.html, docs.aws.amazon.com/batch "job_env_vars". Slurm counts minimum and
//! step over the tasks of one submission, so tasks that are submitted again alone need `--shards`.
//!
//! Configurations are dealt out in turn, so that neighbours in the plan, which are alike in cost, go to different shards.

use super::file::SweepError;

/// A part of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// From 0.
    pub index: u64,
    pub count: u64,
    /// Who said so.
    pub source: &'static str,
}

impl Shard {
    /// The one shard of a sweep that is not shared out.
    pub const WHOLE: Shard = Shard {
        index: 0,
        count: 1,
        source: "the whole sweep",
    };

    /// Whether it has the configuration at this place of the plan.
    pub fn has(&self, place: usize) -> bool {
        place as u64 % self.count == self.index
    }

    /// `I/N` of the command line, I from 1.
    ///
    /// # Errors
    /// It is not that.
    pub fn parse(text: &str) -> Result<Shard, String> {
        let wrong = || format!("'{text}' is not a shard: write I/N, such as 3/8, with I from 1 to N");
        let (ordinal, count) = text.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u64>().ok();
        match (number(ordinal), number(count)) {
            (Some(ordinal), Some(count)) if (1..=count).contains(&ordinal) => Ok(Shard {
                index: ordinal - 1,
                count,
                source: "--shard",
            }),
            _ => Err(wrong()),
        }
    }

    /// What the environment says; all when no scheduler says anything. `shards` is `--shards`.
    ///
    /// # Errors
    /// A variable is not a number, or what is needed is not said.
    pub fn of_environment(variable: &dyn Fn(&str) -> Option<String>, shards: Option<u64>) -> Result<Shard, SweepError> {
        let number = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => match text.trim().parse::<u64>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(SweepError::of(format!("{name}={text} is not a number"))),
            },
        };
        let needed = |name: &str, found: Option<u64>| {
            found.ok_or_else(|| SweepError::of(format!("{name} is set; give the number of shards by --shards N")))
        };
        if let Some(index) = number("JOB_COMPLETION_INDEX")? {
            return of(index, needed("JOB_COMPLETION_INDEX", shards)?, "JOB_COMPLETION_INDEX");
        }
        if let Some(id) = number("SLURM_ARRAY_TASK_ID")? {
            if let Some(count) = shards {
                return of(id, count, "SLURM_ARRAY_TASK_ID");
            }
            let part = |name: &str| needed("SLURM_ARRAY_TASK_ID", number(name)?);
            let (min, max) = (part("SLURM_ARRAY_TASK_MIN")?, part("SLURM_ARRAY_TASK_MAX")?);
            let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
            let (index, count) = (id.saturating_sub(min) / step, max.saturating_sub(min) / step + 1);
            if number("SLURM_ARRAY_TASK_COUNT")?.is_some_and(|tasks| tasks != count) {
                let text = "the array has gaps, so it does not say how many shards there are: say so by --shards N, and number the tasks from 0";
                return Err(SweepError::of(text));
            }
            return of(index, count, "SLURM_ARRAY_TASK_ID");
        }
        if let Some(index) = number("AWS_BATCH_JOB_ARRAY_INDEX")? {
            let count = number("AWS_BATCH_JOB_ARRAY_SIZE")?.or(shards);
            return of(
                index,
                needed("AWS_BATCH_JOB_ARRAY_INDEX", count)?,
                "AWS_BATCH_JOB_ARRAY_INDEX",
            );
        }
        match shards {
            None | Some(1) => Ok(Shard::WHOLE),
            Some(_) => Err(SweepError::of(
                "--shards needs the index of a scheduler (JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID, AWS_BATCH_JOB_ARRAY_INDEX); --shard I/N says both",
            )),
        }
    }
}

fn of(index: u64, count: u64, source: &'static str) -> Result<Shard, SweepError> {
    if index < count {
        return Ok(Shard { index, count, source });
    }
    Err(SweepError::of(format!(
        "{source} says shard {index}, and of {count} shards the last is {}",
        count.saturating_sub(1)
    )))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn from(variables: &[(&str, &str)], shards: Option<u64>) -> Result<(u64, u64), String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let shard = Shard::of_environment(&variable, shards);
        shard
            .map(|shard| (shard.index, shard.count))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn each_scheduler_says_it_in_its_own_way() {
        assert_eq!(from(&[], None), Ok((0, 1)));
        assert_eq!(from(&[("JOB_COMPLETION_INDEX", "7")], Some(8)), Ok((7, 8)));
        let array = [
            ("SLURM_ARRAY_TASK_ID", "31"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_MAX", "71"),
            ("SLURM_ARRAY_TASK_STEP", "10"),
        ];
        assert_eq!(from(&array, None), Ok((3, 8)));
        // Task 5 alone, submitted again: its minimum and maximum are its own.
        let again = [
            ("SLURM_ARRAY_TASK_ID", "5"),
            ("SLURM_ARRAY_TASK_MIN", "5"),
            ("SLURM_ARRAY_TASK_MAX", "5"),
        ];
        assert_eq!(from(&again, Some(8)), Ok((5, 8)));
        let batch = [("AWS_BATCH_JOB_ARRAY_INDEX", "2"), ("AWS_BATCH_JOB_ARRAY_SIZE", "10")];
        assert_eq!(from(&batch, None), Ok((2, 10)));
        assert_eq!(from(&batch[..1], Some(4)), Ok((2, 4)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (variables, shards, part) in [
            (&[("JOB_COMPLETION_INDEX", "1")][..], None, "--shards N"),
            (&[("JOB_COMPLETION_INDEX", "8")], Some(8), "the last is 7"),
            (
                &[
                    ("SLURM_ARRAY_TASK_ID", "3"),
                    ("SLURM_ARRAY_TASK_MIN", "3"),
                    ("SLURM_ARRAY_TASK_MAX", "7"),
                    ("SLURM_ARRAY_TASK_COUNT", "2"),
                ],
                None,
                "gaps",
            ),
            (&[("SLURM_ARRAY_TASK_ID", "x")], Some(8), "SLURM_ARRAY_TASK_ID=x"),
            (&[], Some(8), "--shard I/N"),
        ] {
            let told = from(variables, shards).unwrap_err();
            assert!(told.contains(part), "{part} in {told}");
        }
        for text in ["0/8", "9/8", "8", "a/b", "1/0", "-1/8"] {
            assert!(Shard::parse(text).is_err(), "{text}");
        }
        assert_eq!(Shard::parse("8/8").map(|shard| shard.index), Ok(7));
    }

    #[test]
    fn every_configuration_has_one_shard() {
        for count in 1..=9 {
            let shards = (0..count).map(|index| Shard {
                index,
                count,
                source: "",
            });
            let times: usize = shards
                .map(|shard| (0..100).filter(|place| shard.has(*place)).count())
                .sum();
            assert_eq!(times, 100);
        }
    }
}
