//! Axes: where a value lies, and which values are marked.

use crate::report::format::{Unit, thousands, unit};

/// From values to places.
#[derive(Debug, Clone, Copy)]
pub(in crate::report) struct Axis {
    logarithmic: bool,
    from: f64,
    to: f64,
    /// Between two marks of a linear axis.
    step: f64,
    /// Where `from` and `to` lie, in the panel's units.
    place: (f64, f64),
}

/// Steps of a linear axis at most.
const STEPS_MAX: f64 = 5.0;
/// Powers of ten marked on a logarithmic axis at most.
const DECADES_MAX: usize = 7;

impl Axis {
    /// From zero to a value at or above `max` that is round in the unit of the measurement of that name.
    pub(in crate::report) fn linear(name: &str, max: f64, place: (f64, f64)) -> Axis {
        let step = step_for(name, max);
        Axis {
            logarithmic: false,
            from: 0.0,
            to: (max / step - 1e-9).ceil().max(1.0) * step,
            step,
            place,
        }
    }

    /// Between round values around those above zero; one decade when there are none.
    pub(in crate::report) fn logarithmic(values: impl Iterator<Item = f64>, place: (f64, f64)) -> Axis {
        let (min, max) = values
            .filter(|value| *value > 0.0 && value.is_finite())
            .fold((f64::INFINITY, 0.0), |(min, max), value| {
                (value.min(min), value.max(max))
            });
        let (min, max) = if max > 0.0 { (min, max) } else { (1.0, 10.0) };
        let (from, to) = (round_at_most(min), round_at_least(max));
        Axis {
            logarithmic: true,
            from,
            to: if to > from { to } else { from * 10.0 },
            step: 0.0,
            place,
        }
    }

    /// The place of a value; what lies outside is put at the end.
    pub(in crate::report) fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            let value = value.max(self.from);
            (value / self.from).log10() / (self.to / self.from).log10()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.place.0 + share.clamp(0.0, 1.0) * (self.place.1 - self.place.0)
    }

    /// The values to mark.
    pub(in crate::report) fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            let count = (self.to / self.step).round() as usize;
            return (0..=count).map(|tick| tick as f64 * self.step).collect();
        }
        let decades = self.rounds_within(&[1.0]);
        match decades.len() {
            0..=2 => self.rounds_within(&ROUND),
            few if few <= DECADES_MAX => decades,
            many => decades.into_iter().step_by(many / DECADES_MAX + 1).collect(),
        }
    }

    /// These factors of the powers of ten that lie on a logarithmic axis.
    fn rounds_within(&self, factors: &[f64]) -> Vec<f64> {
        let (first, last) = (power_of_ten(self.from), power_of_ten(self.to));
        let all = (first..=last).flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
        let within = |value: &f64| *value >= self.from * (1.0 - 1e-9) && *value <= self.to * (1.0 + 1e-9);
        all.filter(within).collect()
    }

    /// A mark's text for a measurement of that name. The marks of a linear axis share the unit of its end.
    pub(in crate::report) fn tick_text(&self, name: &str, value: f64) -> String {
        let unit_of = if self.logarithmic { value } else { self.to };
        match unit(name) {
            Unit::Time(factor) => scaled(value * factor, unit_of * factor, &TIMES),
            Unit::Size(factor) => scaled(value * factor, unit_of * factor, &SIZES),
            Unit::Percent => format!("{} %", trimmed(value)),
            Unit::Rate | Unit::Number => trimmed(value),
        }
    }
}

/// Units of an axis, the largest first.
const TIMES: [(f64, &str); 3] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
const SIZES: [(f64, &str); 3] = [(1_073_741_824.0, "GB"), (1_048_576.0, "MB"), (1024.0, "KB")];

fn scaled(value: f64, unit_of: f64, units: &[(f64, &str)]) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let fitting = units.iter().find(|(size, _)| unit_of >= size * (1.0 - 1e-9));
    let Some((size, unit)) = fitting.or(units.last()) else {
        return trimmed(value);
    };
    format!("{} {unit}", trimmed(value / size))
}

/// A round number without the noise of its computation.
fn trimmed(value: f64) -> String {
    if value.abs() >= 1000.0 {
        return thousands(value);
    }
    format!("{}", (value * 1e6).round() / 1e6)
}

/// A step that is round in the unit the marks are written in: sizes count in powers of 1024.
fn step_for(name: &str, max: f64) -> f64 {
    let Unit::Size(factor) = unit(name) else {
        return tick_step(max);
    };
    let bytes = max * factor;
    let size = SIZES.iter().map(|(size, _)| *size).find(|size| bytes >= *size);
    let size = size.unwrap_or(1.0);
    tick_step(bytes / size) * size / factor
}

/// Factors that make a power of ten a round number.
const ROUND: [f64; 3] = [1.0, 2.0, 5.0];

fn power_of_ten(value: f64) -> i32 {
    // A hair above, so that 1000 is not taken for 999.999.
    (value * (1.0 + 1e-9)).log10().floor() as i32
}

/// The largest round number not above a value.
fn round_at_most(value: f64) -> f64 {
    let power = 10_f64.powi(power_of_ten(value));
    let mut below = ROUND.iter().rev().map(|factor| factor * power);
    below.find(|round| *round <= value * (1.0 + 1e-9)).unwrap_or(power)
}

/// The smallest round number not below a value.
fn round_at_least(value: f64) -> f64 {
    let power = 10_f64.powi(power_of_ten(value));
    let mut above = ROUND.iter().map(|factor| factor * power);
    above
        .find(|round| *round >= value * (1.0 - 1e-9))
        .unwrap_or(power * 10.0)
}

/// A step of 1, 2 or 5 times a power of ten that makes at most five steps of `longest`.
fn tick_step(longest: f64) -> f64 {
    if longest <= 0.0 || !longest.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf((longest / STEPS_MAX).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    steps
        .into_iter()
        .find(|step| longest / step <= STEPS_MAX + 1e-9)
        .unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for (longest, step) in [
            (0.0, 1.0),
            (5.0, 1.0),
            (6.1, 2.0),
            (213.5, 50.0),
            (0.004, 0.001),
            (f64::NAN, 1.0),
        ] {
            assert!(
                (tick_step(longest) - step).abs() < 1e-12,
                "{longest}: {}",
                tick_step(longest)
            );
        }
    }

    #[test]
    fn marks_of_an_axis_share_its_unit() {
        let axis = Axis::linear("x_s", 0.19, (0.0, 100.0));
        let texts: Vec<String> = axis.ticks().iter().map(|tick| axis.tick_text("x_s", *tick)).collect();
        assert_eq!(texts, ["0", "50 ms", "100 ms", "150 ms", "200 ms"]);
        assert_eq!(
            Axis::linear("log_mb", 31_996.0, (0.0, 1.0)).ticks(),
            [0.0, 10_240.0, 20_480.0, 30_720.0, 40_960.0]
        );
        assert_eq!(
            Axis::linear("log_mb", 31_996.0, (0.0, 1.0)).tick_text("log_mb", 10_240.0),
            "10 GB"
        );
        let logarithmic = Axis::logarithmic([0.0, 4.0, 126_399.0].into_iter(), (0.0, 1.0));
        assert_eq!(logarithmic.ticks(), [10.0, 100.0, 1000.0, 10_000.0, 100_000.0]);
        assert_eq!((logarithmic.from, logarithmic.to), (2.0, 200_000.0));
        assert_eq!(logarithmic.tick_text("vlf_count", 100_000.0), "100,000");
    }

    #[test]
    fn places_are_in_proportion_and_never_outside() {
        let linear = Axis::linear("x", 4.0, (100.0, 300.0));
        assert_eq!((linear.at(0.0), linear.at(2.0), linear.at(99.0)), (100.0, 200.0, 300.0));
        let logarithmic = Axis::logarithmic([1.0, 100.0].into_iter(), (0.0, 200.0));
        assert_eq!(
            (logarithmic.at(0.0), logarithmic.at(10.0), logarithmic.at(100.0)),
            (0.0, 100.0, 200.0)
        );
        let nothing = Axis::logarithmic(std::iter::empty(), (0.0, 1.0));
        assert_eq!(nothing.ticks(), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(
            Axis::logarithmic([1000.0].into_iter(), (0.0, 1.0)).ticks(),
            [1000.0, 2000.0, 5000.0, 10_000.0]
        );
    }
}
