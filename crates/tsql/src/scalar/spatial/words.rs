//! Well-known text written as SQL Server writes it: `POINT (1 2)`, `POLYGON ((0 0, 0 1, 1 1, 0 0))`.
//!
//! Numbers are those of `Double.ToString("R")` in .NET Framework: fifteen digits if these are the number, else seventeen; with an exponent below
//! 0.0001 and beyond the digits.

use std::fmt::Write as _;

use engine::cancel;
use engine::error::Result;
use engine::types::{Text, Value, string_room};

use super::{Joins, Kind, Point, Spatial};

/// After so many bytes of text memory is asked for.
const SPENT_BYTES: usize = 65_536;

/// A number in text.
fn put_number(number: f64, out: &mut String) {
    let short = format!("{number:.14e}");
    let (written, digits_max) = match short.parse::<f64>() {
        Ok(read) if read == number => (short, 15),
        _ => (format!("{number:.16e}"), 17),
    };
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    out.push_str(sign);
    // A String takes all that is written to it.
    let _written = match exponent {
        -4..0 => write!(out, "0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)),
        0.. if exponent < digits_max => {
            let whole = exponent as usize + 1;
            match digits.split_at_checked(whole) {
                Some((whole, "")) => write!(out, "{whole}"),
                Some((whole, fraction)) => write!(out, "{whole}.{fraction}"),
                None => write!(out, "{digits:0<whole$}"),
            }
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(out, "{first}{point}{rest}E{sign}{:02}", exponent.unsigned_abs())
        }
    };
}

impl Spatial {
    /// The text, with elevations and measures or without.
    ///
    /// # Errors
    /// 7119 when it is longer than a string can be, 701 when there is no memory for it.
    pub fn to_text(&self, with_z_and_m: bool) -> Result<Value> {
        let mut writer = Writer {
            of: self,
            with_z_and_m,
            out: String::new(),
            asked_to: 0,
            room: string_room(0)?,
        };
        writer.shapes()?;
        drop(writer.room);
        let charge = string_room(writer.out.len())?;
        Ok(Value::Text(Text::charged(writer.out, charge)))
    }
}

struct Writer<'s> {
    of: &'s Spatial,
    with_z_and_m: bool,
    out: String,
    /// How much of the text memory has been asked for.
    asked_to: usize,
    room: engine::memory::Charge,
}

impl Writer<'_> {
    /// Shape after shape; a stack tells what is around the next one.
    fn shapes(&mut self) -> Result<()> {
        let mut around: Vec<usize> = Vec::new();
        for (at, shape) in self.of.shapes.iter().enumerate() {
            while around.last().is_some_and(|last| Some(*last) != shape.parent) {
                around.pop();
                self.out.push(')');
            }
            let parent = around.last().map(|parent| self.of.shapes[*parent].kind);
            match around.last() {
                // The first one within stands right behind its parent.
                Some(parent) if *parent + 1 == at => self.out.push('('),
                Some(_) => self.out.push_str(", "),
                None => {}
            }
            if parent.is_none_or(|parent| parent == Kind::GeometryCollection) {
                self.out.push_str(shape.kind.label());
                if shape.kind != Kind::FullGlobe {
                    self.out.push(' ');
                }
            }
            let next = self.of.shapes.get(at + 1);
            if shape.kind.holds().is_some() && next.is_some_and(|next| next.parent == Some(at)) {
                around.push(at);
            } else {
                self.leaf(at, shape.kind)?;
            }
        }
        self.out.extend(around.iter().map(|_| ')'));
        Ok(())
    }

    fn leaf(&mut self, shape: usize, kind: Kind) -> Result<()> {
        let mut figures = self.of.figures_between(shape, shape + 1);
        if kind == Kind::FullGlobe {
            return Ok(());
        }
        if figures.is_empty() {
            self.out.push_str("EMPTY");
            return Ok(());
        }
        if !kind.is_polygon() {
            return figures.try_for_each(|figure| self.figure(figure, kind == Kind::CompoundCurve));
        }
        for (ring, figure) in figures.enumerate() {
            self.out.push_str(if ring == 0 { "(" } else { ", " });
            match self.of.figures[figure].joins {
                Joins::Lines => {}
                Joins::Arcs => self.out.push_str("CIRCULARSTRING "),
                Joins::Both => self.out.push_str("COMPOUNDCURVE "),
            }
            self.figure(figure, true)?;
        }
        self.out.push(')');
        Ok(())
    }

    fn figure(&mut self, figure: usize, may_join: bool) -> Result<()> {
        let points = self.of.figure_points(figure);
        if may_join && self.of.figures[figure].joins == Joins::Both {
            return self.elements(figure, &self.of.points[points]);
        }
        self.run(&self.of.points[points])
    }

    fn run(&mut self, points: &[Point]) -> Result<()> {
        self.out.push('(');
        for (at, point) in points.iter().enumerate() {
            self.out.push_str(if at == 0 { "" } else { ", " });
            self.point(point)?;
        }
        self.out.push(')');
        Ok(())
    }

    /// The elements of a figure that has lines and arcs.
    fn elements(&mut self, figure: usize, points: &[Point]) -> Result<()> {
        let of = self.of;
        let segments = of.segments_of(figure);
        let (mut start, mut end) = (0, 0);
        self.out.push('(');
        for (at, segment) in segments.iter().enumerate() {
            end += segment.points();
            let next = segments.get(at + 1);
            let goes_on = next.is_some_and(|next| !next.is_first() && next.is_arc() == segment.is_arc());
            if goes_on {
                continue;
            }
            self.out.push_str(if start == 0 { "" } else { ", " });
            self.out.push_str(if segment.is_arc() { "CIRCULARSTRING " } else { "" });
            self.run(points.get(start..=end).unwrap_or_default())?;
            start = end;
        }
        self.out.push(')');
        Ok(())
    }

    fn point(&mut self, point: &Point) -> Result<()> {
        put_number(point.x, &mut self.out);
        self.out.push(' ');
        put_number(point.y, &mut self.out);
        if self.with_z_and_m {
            match point.z.is_nan() {
                false => {
                    self.out.push(' ');
                    put_number(point.z, &mut self.out);
                }
                true if !point.m.is_nan() => self.out.push_str(" NULL"),
                true => {}
            }
            if !point.m.is_nan() {
                self.out.push(' ');
                put_number(point.m, &mut self.out);
            }
        }
        if self.out.len() - self.asked_to < SPENT_BYTES {
            return Ok(());
        }
        cancel::spend_bytes(self.out.len() - self.asked_to)?;
        self.asked_to = self.out.len();
        self.room.grow_to(2 * self.out.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn numbers_are_written_as_dot_net_framework_writes_them() {
        let cases = [
            (1.5, "1.5"),
            (-0.25, "-0.25"),
            (1e10, "10000000000"),
            (1e14, "100000000000000"),
            (1e15, "1E+15"),
            (1e30, "1E+30"),
            (1e-6, "1E-06"),
            (0.0001, "0.0001"),
            (0.00001, "1E-05"),
            (0.00012, "0.00012"),
            (1.123_456_789_012_345_7, "1.1234567890123457"),
            (4.000_000_000_000_007, "4.0000000000000071"),
            (1.25e-7, "1.25E-07"),
            (47.65, "47.65"),
            (0.0, "0"),
            (f64::MAX, "1.7976931348623157E+308"),
        ];
        for (number, text) in cases {
            let mut out = String::new();
            super::put_number(number, &mut out);
            assert_eq!(out, text);
        }
    }
}
