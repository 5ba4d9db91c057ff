//! What the judgements add up to, in words.

use crate::campaign::{Judgement, Outcome, judgements};
use crate::workshop::{Mutant, Plan};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

#[derive(Default)]
struct Count {
    caught: usize,
    survived: usize,
    unreached: usize,
}

impl Count {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Caught => self.caught += 1,
            Outcome::Survived => self.survived += 1,
            Outcome::Unreached => self.unreached += 1,
        }
    }

    fn row(&self, name: &str) -> String {
        let all = self.caught + self.survived + self.unreached;
        let share = self.caught * 1_000 / all.max(1);
        format!(
            "| {name} | {all} | {} | {} | {} | {}.{} % |\n",
            self.caught,
            self.survived,
            self.unreached,
            share / 10,
            share % 10
        )
    }
}

/// Tables by folder and by kind, and every change that nobody caught.
pub fn report(folder: &Path) -> Result<String, Box<dyn Error>> {
    let plan = Plan::read(folder)?;
    let judged = judgements(folder)?;
    let pairs = plan
        .mutants
        .iter()
        .filter_map(|mutant| Some((mutant, judged.get(&mutant.id)?)));
    let pairs: Vec<(&Mutant, &Judgement)> = pairs.collect();
    let mut text = format!(
        "commit {}, seed {}: {} of {} drawn changes judged ({} places of change; {} drawn ones do not compile)\n\n",
        plan.commit,
        plan.seed,
        pairs.len(),
        plan.mutants.len(),
        plan.sites,
        plan.refused
    );
    let folder_of = |mutant: &Mutant| mutant.file.split('/').nth(3).unwrap_or_default().to_string();
    text += &table("folder", &pairs, folder_of);
    text += &table("change", &pairs, |mutant| mutant.operator.clone());
    for (mutant, judgement) in pairs
        .iter()
        .filter(|(_, judgement)| judgement.outcome != Outcome::Caught)
    {
        let word = match judgement.outcome {
            Outcome::Unreached => "never reached",
            _ => "survived",
        };
        let short = |words: &str| words.split_whitespace().collect::<Vec<_>>().join(" ");
        let (original, changed) = (short(&mutant.original), short(&mutant.changed));
        let (file, line, operator) = (&mutant.file, mutant.line, &mutant.operator);
        writeln!(
            text,
            "{} {word} {file}:{line} {operator}: `{original}` -> `{changed}`",
            mutant.id
        )?;
    }
    Ok(text)
}

fn table(title: &str, pairs: &[(&Mutant, &Judgement)], key: impl Fn(&Mutant) -> String) -> String {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut all = Count::default();
    for (mutant, judgement) in pairs {
        counts.entry(key(mutant)).or_default().add(&judgement.outcome);
        all.add(&judgement.outcome);
    }
    let mut text =
        format!("| {title} | changes | caught | survived | never reached | share |\n|---|---|---|---|---|---|\n");
    counts.iter().for_each(|(name, count)| text += &count.row(name));
    text + &all.row("all") + "\n"
}
