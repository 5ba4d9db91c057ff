//! The published table and ours side by side, with ratios.
//!
//! Two configurations stand side by side under each group, a measurement in each row; more configurations take a row each,
//! below a heading for each measurement; so do the groups when they are many.

use super::format::{label, range, ratio, value};
use super::table::{Cell, Column, Look, Row, Table};
use super::verdict;
use crate::experiment::Experiment;
use crate::results::Results;
use crate::statistics::Measurement;

/// More groups than this take a row each instead of columns.
const GROUPS_BESIDE_MAX: usize = 4;

/// Before the name of a variant.
const MEASURED: &str = "measured, ";

/// Published figures or those of one variant.
struct Group<'a> {
    name: String,
    find: Find<'a>,
}

/// Finds a configuration's measurement by both names.
type Find<'a> = Box<dyn Fn(&str, &str) -> Option<Measurement> + 'a>;

/// The table; the ratios' meaning is in [`ratio_note`].
pub(super) fn table(experiment: &Experiment, results: &Results) -> Table {
    let bases = bases(experiment, results);
    let groups = groups(experiment, results);
    let measures = measures(experiment, &bases, &groups);
    let table = if groups.len() > GROUPS_BESIDE_MAX {
        groups_below_each_other(&bases, &groups, &measures)
    } else if let [first, second] = bases.as_slice() {
        side_by_side((first, second), &groups, &measures)
    } else {
        below_each_other(experiment, &bases, &groups, &measures)
    };
    table.without_empty_columns()
}

pub(super) fn ratio_note(experiment: &Experiment, results: &Results) -> String {
    let spread = "Medians; below them, where runs were repeated, the smallest and the largest value.";
    if groups(experiment, results).len() > GROUPS_BESIDE_MAX {
        return spread.into();
    }
    match bases(experiment, results).as_slice() {
        [first, second] => format!("{spread} Ratios are of {first} to {second}."),
        _ => format!("{spread} Ratios are to the configuration without one."),
    }
}

fn bases<'a>(experiment: &'a Experiment, results: &Results) -> Vec<&'a str> {
    let measured = |base: &str| results.configurations.iter().any(|each| each.base == base);
    let names = experiment.configuration.iter().map(|each| each.name.as_str());
    names
        .filter(|base| measured(base) || experiment.published_for(base).is_some())
        .collect()
}

fn groups<'a>(experiment: &'a Experiment, results: &'a Results) -> Vec<Group<'a>> {
    let mut groups = Vec::new();
    if experiment.published.is_some() {
        groups.push(Group {
            name: format!("published{}", verdict::published_mark(experiment, results)),
            find: Box::new(|base, measure| {
                let figure = experiment.published_for(base)?.get(measure)?;
                Some(Measurement::of(vec![*figure]))
            }),
        });
    }
    for variant in results.variants() {
        let name = if verdict::is_modelled(variant) {
            verdict::shown_variant(variant)
        } else if variant.is_empty() {
            "measured".into()
        } else {
            format!("{MEASURED}{variant}")
        };
        groups.push(Group {
            name,
            find: Box::new(move |base, measure| results.find(base, variant)?.measurement(measure).cloned()),
        });
    }
    groups
}

/// The measurements that have a figure, those that steps make first.
fn measures(experiment: &Experiment, bases: &[&str], groups: &[Group<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in experiment.measurement_names() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.retain(|measure| {
        let there = |base: &&str| groups.iter().any(|group| (group.find)(base, measure).is_some());
        bases.iter().any(there)
    });
    names
}

fn column(group: &str, name: &str, look: Look) -> Column {
    Column {
        group: group.into(),
        name: name.into(),
        look,
    }
}

fn side_by_side((first, second): (&str, &str), groups: &[Group<'_>], measures: &[String]) -> Table {
    let mut table = Table {
        caption: "Published and measured figures".into(),
        columns: vec![column("", "", Look::Text)],
        rows: Vec::new(),
    };
    for group in groups {
        table.columns.push(column(&group.name, first, Look::Figure));
        table.columns.push(column(&group.name, second, Look::Figure));
        table.columns.push(column(&group.name, "ratio", Look::Ratio));
    }
    for measure in measures {
        let mut cells = vec![Cell::text(label(measure))];
        for group in groups {
            let (left, right) = ((group.find)(first, measure), (group.find)(second, measure));
            cells.push(figure_cell(measure, left.as_ref()));
            cells.push(figure_cell(measure, right.as_ref()));
            cells.push(ratio_cell(left.as_ref(), right.as_ref()));
        }
        table.push(cells);
    }
    table
}

fn below_each_other(experiment: &Experiment, bases: &[&str], groups: &[Group<'_>], measures: &[String]) -> Table {
    let with_ratio = bases.len() > 1 && !experiment.finding.is_empty();
    let mut table = Table {
        caption: "Published and measured figures".into(),
        columns: vec![column("", "configuration", Look::Text)],
        rows: Vec::new(),
    };
    for group in groups {
        if with_ratio {
            table.columns.push(column(&group.name, "value", Look::Figure));
            table.columns.push(column(&group.name, "ratio", Look::Ratio));
        } else {
            table.columns.push(column("", &group.name, Look::Figure));
        }
    }
    for measure in measures {
        table.rows.push(Row::Heading(label(measure)));
        let reference = reference(experiment, measure);
        for base in bases {
            let mut cells = vec![Cell::text(*base)];
            for group in groups {
                let found = (group.find)(base, measure);
                cells.push(figure_cell(measure, found.as_ref()));
                if with_ratio && reference == Some(*base) {
                    cells.push(Cell::look("", Look::Ratio));
                } else if with_ratio {
                    let to = reference.and_then(|base| (group.find)(base, measure));
                    cells.push(ratio_cell(found.as_ref(), to.as_ref()));
                }
            }
            table.push(cells);
        }
    }
    table
}

fn groups_below_each_other(bases: &[&str], groups: &[Group<'_>], measures: &[String]) -> Table {
    let mut table = Table {
        caption: "Published and measured figures".into(),
        columns: vec![column("", "variant", Look::Text)],
        rows: Vec::new(),
    };
    table
        .columns
        .extend(bases.iter().map(|base| column("", base, Look::Figure)));
    for measure in measures {
        table.rows.push(Row::Heading(label(measure)));
        for group in groups {
            let found = |base: &&str| (group.find)(base, measure);
            if !bases.iter().any(|base| found(base).is_some()) {
                continue;
            }
            let name = group.name.trim_start_matches(MEASURED);
            let mut cells = vec![Cell::text(name)];
            cells.extend(bases.iter().map(|base| figure_cell(measure, found(base).as_ref())));
            table.push(cells);
        }
    }
    table
}

/// The configuration that the others are divided by: the fast one of the finding on this measurement, or of the first.
fn reference<'a>(experiment: &'a Experiment, measure: &str) -> Option<&'a str> {
    let of_measure = experiment.finding.iter().find(|finding| finding.measure == measure);
    let finding = of_measure.or(experiment.finding.first())?;
    Some(&finding.fast)
}

pub(super) fn figure_cell(measure: &str, found: Option<&Measurement>) -> Cell {
    let Some(found) = found else { return Cell::figure("–") };
    let spread = found.runs > 1 && found.min != found.max;
    let spread = spread.then(|| range(measure, found.min, found.max));
    let parts = found.device_s.zip(found.processor_s).map(|(device, processor)| {
        format!(
            "device {}, processor {}",
            value(measure, device),
            value(measure, processor)
        )
    });
    let below: Vec<String> = spread.into_iter().chain(parts).collect();
    Cell {
        below: below.join("; "),
        ..Cell::figure(value(measure, found.median))
    }
}

fn ratio_cell(left: Option<&Measurement>, right: Option<&Measurement>) -> Cell {
    let times = match (left, right) {
        (Some(left), Some(right)) if right.median > 0.0 => Some(left.median / right.median),
        _ => None,
    };
    let text = times.map_or_else(|| "–".into(), |times| format!("{}×", ratio(times)));
    Cell::look(text, Look::Ratio)
}
