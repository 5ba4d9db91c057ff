//! Well-known text read (OGC Simple Features, with the Z and M of SQL Server: four numbers of a point, NULL for one that it lacks).
//!
//! What is wrong with a text is said in SQL Server's words, with its counting of positions, as tests of public projects note them
//! (dotMorten/Microsoft.SqlServer.Types; RyanLamansky/sql-server-simulator, `docs/claude/spatial.md`): a number that is none at the place behind
//! it, a bracket that is missing at its own.

use engine::cancel;
use engine::error::{Error, Result};

use super::builder::Builder;
use super::{Joins, Kind, Point, Segment, Spatial, Surface};

/// Characters of a text that an error repeats.
const SHOWN_CHARACTERS_MAX: usize = 4_000;

/// Longer labels before those that begin them.
const LABELS: [(&str, Kind); 11] = [
    ("POINT", Kind::Point),
    ("LINESTRING", Kind::LineString),
    ("POLYGON", Kind::Polygon),
    ("MULTIPOINT", Kind::MultiPoint),
    ("MULTILINESTRING", Kind::MultiLineString),
    ("MULTIPOLYGON", Kind::MultiPolygon),
    ("GEOMETRYCOLLECTION", Kind::GeometryCollection),
    ("CIRCULARSTRING", Kind::CircularString),
    ("COMPOUNDCURVE", Kind::CompoundCurve),
    ("CURVEPOLYGON", Kind::CurvePolygon),
    ("FULLGLOBE", Kind::FullGlobe),
];

impl Kind {
    /// Its word in well-known text.
    pub(super) fn label(self) -> &'static str {
        LABELS
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or("", |(label, _)| label)
    }
}

impl Spatial {
    /// The value of a text, and nothing but the text of a value of `wanted` where that is said.
    ///
    /// # Errors
    /// 6522 with 24111 to 24214 for a text that is none, 24100 and 24204 for a reference system that is none; 701.
    pub fn from_text(surface: Surface, text: &str, srid: i32, wanted: Option<Kind>) -> Result<Spatial> {
        cancel::spend_bytes(text.len())?;
        let mut reader = Reader {
            text,
            at: 0,
            builder: Builder::new(surface, srid)?,
        };
        reader.skip_space();
        if reader.rest().is_empty() {
            return Err(reader.builder.refused(
                "24112: The well-known text (WKT) input is empty. To input an empty instance, specify an empty instance of one of the following types: \
                 Point, LineString, Polygon, MultiPoint, MultiLineString, MultiPolygon, CircularString, CompoundCurve, CurvePolygon or \
                 GeometryCollection.",
            ));
        }
        if let Some(wanted) = wanted.filter(|wanted| !starts_with(reader.rest(), wanted.label())) {
            return Err(reader.label_expected(wanted.label()));
        }
        reader.shapes()?;
        reader.skip_space();
        if !reader.rest().is_empty() {
            return Err(reader
                .builder
                .refused("24111: The well-known text (WKT) input is not valid."));
        }
        reader.builder.finish()
    }
}

fn starts_with(text: &str, word: &str) -> bool {
    let start = text.as_bytes().get(..word.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    builder: Builder,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// The position of a place, in characters.
    fn position(&self, at: usize) -> usize {
        self.text[..at].encode_utf16().count()
    }

    fn shown(text: &str, characters: usize) -> String {
        text.chars().take(characters.min(SHOWN_CHARACTERS_MAX)).collect()
    }

    fn ended(&self) -> Error {
        self.builder.refused(
            "24209: Unexpected end of input. Check that the input data is complete and has not been truncated.",
        )
    }

    fn expected(&self, expected: &str, position: usize, actual: &str) -> Error {
        self.builder.refused(&format!(
            "24142: Expected \"{expected}\" at position {position}. The input has \"{actual}\"."
        ))
    }

    /// As long as the label, and counted from one, when the text goes on behind that; a character otherwise.
    fn label_expected(&self, label: &str) -> Error {
        let rest = self.rest();
        if rest.is_empty() {
            return self.ended();
        }
        let length = rest.chars().take(label.len() + 1).count();
        let position = self.position(self.at) + usize::from(length > label.len());
        let shown = if length < label.len() { 1 } else { label.len() };
        self.expected(label, position, &Reader::shown(rest, shown))
    }

    /// Whether the next character is this one, which is taken then.
    fn eat(&mut self, wanted: char) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(wanted);
        self.at += if is_next { wanted.len_utf8() } else { 0 };
        is_next
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.eat(wanted) {
            return Ok(());
        }
        match self.rest() {
            "" => Err(self.ended()),
            rest => Err(self.expected(&wanted.to_string(), self.position(self.at), &Reader::shown(rest, 1))),
        }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.skip_space();
        let is_next = starts_with(self.rest(), word);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    fn label(&mut self) -> Result<Kind> {
        self.skip_space();
        let rest = self.rest();
        if rest.is_empty() {
            return Err(self.ended());
        }
        let found = LABELS.iter().find(|(label, _)| starts_with(rest, label));
        let Some((label, kind)) = found else {
            let shown = Reader::shown(rest, SHOWN_CHARACTERS_MAX);
            return Err(self.builder.refused(&format!(
                "24114: The label {shown} in the input well-known text (WKT) is not valid. Valid labels are POINT, LINESTRING, POLYGON, MULTIPOINT, \
                 MULTILINESTRING, MULTIPOLYGON, GEOMETRYCOLLECTION, CIRCULARSTRING, COMPOUNDCURVE, CURVEPOLYGON and FULLGLOBE (geography Data Type \
                 only)."
            )));
        };
        self.at += label.len();
        Ok(*kind)
    }

    /// A shape with all within it. Collections are not recursion: they may be as deep as the text is long.
    fn shapes(&mut self) -> Result<()> {
        loop {
            let kind = self.label()?;
            self.builder.begin(kind)?;
            if kind == Kind::GeometryCollection && !self.eat_word("EMPTY") {
                self.expect('(')?;
                continue;
            }
            if kind != Kind::GeometryCollection {
                self.content(kind)?;
            }
            self.builder.end();
            // What was the last of its collection ends that, too.
            while self.builder.innermost().is_some() && !self.eat(',') {
                self.expect(')')?;
                self.builder.end();
            }
            if self.builder.innermost().is_none() {
                return Ok(());
            }
        }
    }

    /// What stands behind the label of anything but a collection.
    fn content(&mut self, kind: Kind) -> Result<()> {
        if kind == Kind::FullGlobe || self.eat_word("EMPTY") {
            return Ok(());
        }
        match kind {
            Kind::Point => {
                self.expect('(')?;
                self.builder.begin_figure(Joins::Lines)?;
                self.point()?;
                self.expect(')')
            }
            Kind::LineString => self.line(),
            Kind::CircularString => {
                self.builder.begin_figure(Joins::Arcs)?;
                self.arcs()
            }
            Kind::CompoundCurve => {
                self.builder.begin_figure(Joins::Both)?;
                self.lines_and_arcs()
            }
            Kind::Polygon | Kind::CurvePolygon => self.rings(kind),
            Kind::MultiPoint => self.points(),
            Kind::MultiLineString => self.several(Kind::LineString),
            Kind::MultiPolygon => self.several(Kind::Polygon),
            Kind::GeometryCollection | Kind::FullGlobe => Ok(()),
        }
    }

    /// `(x y, ...)` as a figure of lines.
    fn line(&mut self) -> Result<()> {
        self.builder.begin_figure(Joins::Lines)?;
        let points = self.run()?;
        self.builder.require_line(points)
    }

    /// `(x y, ...)`: how many there were.
    fn run(&mut self) -> Result<usize> {
        self.expect('(')?;
        let mut points = 0;
        loop {
            self.point()?;
            points += 1;
            if !self.eat(',') {
                self.expect(')')?;
                return Ok(points);
            }
        }
    }

    /// `(x y, x y, x y, ...)`, two points for each arc behind the first.
    fn arcs(&mut self) -> Result<()> {
        self.expect('(')?;
        self.point()?;
        if self.eat(')') {
            return Err(self.builder.refused(
                "24212: The CircularString input is not valid because it does not have enough points. A CircularString must have at least three points.",
            ));
        }
        loop {
            self.expect(',')?;
            self.point()?;
            self.expect(',')?;
            self.point()?;
            if self.eat(')') {
                return Ok(());
            }
        }
    }

    /// `((x y, ...), CIRCULARSTRING (...), ...)`: the point that two elements share is written twice and kept once.
    fn lines_and_arcs(&mut self) -> Result<()> {
        self.expect('(')?;
        let mut is_first = true;
        loop {
            self.skip_space();
            let is_arc = starts_with(self.rest(), "C");
            if is_arc && !self.eat_word(Kind::CircularString.label()) {
                return Err(self.label_expected(Kind::CircularString.label()));
            }
            self.element(is_first, is_arc)?;
            is_first = false;
            if !self.eat(',') {
                return self.expect(')');
            }
        }
    }

    fn element(&mut self, is_first: bool, is_arc: bool) -> Result<()> {
        self.expect('(')?;
        let start = self.place()?;
        match self.builder.figure().last() {
            Some(last) if !is_first && !last.is_same(&start) => {
                return Err(self.builder.refused(
                    "24134: Sequential parts of a compound curve must have one common endpoint. Add a common endpoint. All coordinates, including \
                     optional Z and M, must be equal.",
                ));
            }
            Some(_) if !is_first => {}
            _ => self.builder.point(start)?,
        }
        let mut parts = 0;
        while parts == 0 || !self.eat(')') {
            if parts == 0 && self.eat(')') {
                return match is_arc {
                    true => Err(self.builder.refused(
                        "24212: The CircularString input is not valid because it does not have enough points. A CircularString must have at least \
                         three points.",
                    )),
                    false => self.builder.require_line(1),
                };
            }
            self.builder.segment(match (is_arc, parts) {
                (true, 0) => Segment::FirstArc,
                (true, _) => Segment::Arc,
                (false, 0) => Segment::FirstLine,
                (false, _) => Segment::Line,
            });
            for _ in 0..if is_arc { 2 } else { 1 } {
                self.expect(',')?;
                self.point()?;
            }
            parts += 1;
        }
        Ok(())
    }

    /// `((x y, ...), ...)`, of a CurvePolygon with curves, too.
    fn rings(&mut self, kind: Kind) -> Result<()> {
        self.expect('(')?;
        for ring in 0.. {
            if self.eat_word("EMPTY") {
                let surface = match kind {
                    Kind::CurvePolygon => Surface::Plane,
                    _ => self.builder.surface(),
                };
                return Err(self.builder.short_ring(ring, surface));
            }
            self.ring(kind)?;
            self.builder.require_ring(ring)?;
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')')
    }

    fn ring(&mut self, kind: Kind) -> Result<()> {
        let is_curve = kind == Kind::CurvePolygon && starts_with(self.rest(), "C");
        if !is_curve {
            self.builder.begin_figure(Joins::Lines)?;
            return self.run().map(drop);
        }
        let empty = |call: &str, end: &str| format!("{call}, but {end} was called.");
        let end = match self.builder.surface() {
            Surface::Plane => "EndGeometry",
            Surface::Earth => "EndGeography",
        };
        if self.eat_word(Kind::CompoundCurve.label()) {
            if self.eat_word("EMPTY") {
                let call = "24301: Expected a call to AddSegmentLine or AddSegmentArc";
                return Err(self.builder.refused(&empty(call, end)));
            }
            self.builder.begin_figure(Joins::Both)?;
            return self.lines_and_arcs();
        }
        if !self.eat_word(Kind::CircularString.label()) {
            return Err(self.label_expected(Kind::CircularString.label()));
        }
        if self.eat_word("EMPTY") {
            return Err(self
                .builder
                .refused(&empty("24300: Expected a call to BeginFigure", end)));
        }
        self.builder.begin_figure(Joins::Arcs)?;
        self.arcs()
    }

    /// `(x y, ...)` or `((x y), ...)` as points: the first one tells which.
    fn points(&mut self) -> Result<()> {
        self.expect('(')?;
        self.skip_space();
        let is_plain = !self.rest().starts_with('(') && !starts_with(self.rest(), "EMPTY");
        loop {
            self.builder.begin(Kind::Point)?;
            if is_plain {
                self.builder.begin_figure(Joins::Lines)?;
                self.point()?;
            } else {
                self.content(Kind::Point)?;
            }
            self.builder.end();
            if !self.eat(',') {
                return self.expect(')');
            }
        }
    }

    /// `(..., ...)` of shapes without labels.
    fn several(&mut self, kind: Kind) -> Result<()> {
        self.expect('(')?;
        loop {
            self.builder.begin(kind)?;
            self.content(kind)?;
            self.builder.end();
            if !self.eat(',') {
                return self.expect(')');
            }
        }
    }

    fn point(&mut self) -> Result<()> {
        let place = self.place()?;
        self.builder.point(place)
    }

    /// `x y [z [m]]`
    fn place(&mut self) -> Result<Point> {
        let (x, y) = (self.number(false)?, self.number(false)?);
        let (mut z, mut m) = (f64::NAN, f64::NAN);
        if self.has_number() {
            z = self.number(true)?;
        }
        if self.has_number() {
            m = self.number(true)?;
        }
        Ok(Point { x, y, z, m })
    }

    /// Whether the point goes on.
    fn has_number(&mut self) -> bool {
        self.skip_space();
        !self.rest().is_empty() && !self.rest().starts_with([',', '(', ')'])
    }

    /// A number, or NULL where that may be.
    fn number(&mut self, or_null: bool) -> Result<f64> {
        self.skip_space();
        let rest = self.rest();
        let mut characters = rest.chars();
        let (token, end) = match characters.next() {
            None => return Err(self.ended()),
            // It is not taken.
            Some(first @ ('(' | ')')) => (&rest[..first.len_utf8()], self.at),
            Some(_) => {
                let behind = characters.as_str();
                let is_end = |character: char| character.is_whitespace() || matches!(character, ',' | '(' | ')');
                let length = rest.len() - behind.len() + behind.find(is_end).unwrap_or(behind.len());
                (&rest[..length], self.at + length)
            }
        };
        if or_null && token.eq_ignore_ascii_case("NULL") {
            self.at = end;
            return Ok(f64::NAN);
        }
        let is_written = token
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        let read = token
            .parse::<f64>()
            .ok()
            .filter(|number| is_written && number.is_finite());
        let Some(number) = read else {
            let position = self.position(end);
            let shown = Reader::shown(token, SHOWN_CHARACTERS_MAX);
            return Err(self.builder.refused(&format!(
                "24141: A number is expected at position {position} of the input. The input has {shown}."
            )));
        };
        self.at = end;
        Ok(number)
    }
}
