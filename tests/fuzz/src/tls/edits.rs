//! Changes of what a client sends, each eight bytes of an input.

use outside::random::Random;

/// Bytes of a record's header.
const RECORD_HEADER_BYTES: usize = 5;
/// Kinds of records (RFC 8446, 5.1; 24 is the heartbeat's of RFC 6520), and some that do not exist.
const KINDS: [u8; 9] = [20, 21, 22, 23, 24, 0, 19, 0x80, 0xFF];
/// Lengths that are wrong wherever they stand.
const LENGTHS: [u16; 12] = [0, 1, 4, 5, 8, 0x3FFF, 0x4000, 0x4001, 0x4101, 0x7FFF, 0x8000, 0xFFFF];
/// What a flood consists of at most.
const FLOOD_MAX: u16 = 300;
const FLOOD_BYTES_MAX: usize = 300_000;

/// Where a change takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// In a record before it is sealed.
    Unsealed,
    /// In TLS, before TDS wraps it.
    Record,
    /// In what goes over the wire.
    Wire,
    /// A record more, sealed as it should be, with contents that it should not have.
    Forged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    flight: u8,
    kind: u8,
    place: u16,
    count: u16,
    argument: u16,
}

impl Edit {
    /// Bytes of one in an input.
    pub const BYTES: usize = 8;

    pub fn of(bytes: [u8; Edit::BYTES]) -> Edit {
        let [flight, kind, a, b, c, d, e, f] = bytes;
        Edit {
            flight,
            kind,
            place: u16::from_le_bytes([a, b]),
            count: u16::from_le_bytes([c, d]),
            argument: u16::from_le_bytes([e, f]),
        }
    }

    pub fn make(random: &mut Random) -> [u8; Edit::BYTES] {
        let flight = random.below(6) as u8;
        let kind = random.draw() as u8;
        let [a, b] = (random.of_any_magnitude(0xFFFF) as u16 - u16::from(random.below(2) == 0)).to_le_bytes();
        let [c, d] = (random.of_any_magnitude(400) as u16).to_le_bytes();
        let [e, f] = (random.draw() as u16).to_le_bytes();
        [flight, kind, a, b, c, d, e, f]
    }

    /// Where it takes place: the two upper bits of its kind.
    pub fn layer(&self) -> Layer {
        match self.kind >> 6 {
            0 => Layer::Unsealed,
            1 => Layer::Record,
            2 => Layer::Wire,
            _ => Layer::Forged,
        }
    }

    /// The number of the flight that it changes, or of the record.
    pub fn place_of_flight(&self) -> usize {
        self.flight.into()
    }

    fn operation(&self) -> u8 {
        self.kind & 0x3F
    }

    fn low(&self) -> u8 {
        self.argument as u8
    }

    /// A place in some bytes and where it ends, both within.
    fn span(&self, bytes: usize) -> (usize, usize) {
        let begin = usize::from(self.place) % (bytes + 1);
        (begin, (begin + usize::from(self.count)).min(bytes))
    }

    /// Changes what is to be sealed.
    pub fn change_unsealed(&self, kind: &mut u8, contents: &mut Vec<u8>) {
        let (begin, end) = self.span(contents.len());
        match self.operation() % 7 {
            0 => *kind = KINDS[usize::from(self.argument) % KINDS.len()],
            1 => contents.clear(),
            2 => contents.truncate(begin),
            3 if begin < end => contents[begin] ^= 1 << (self.argument % 8),
            4 => contents.splice(begin..begin, [self.low()]).for_each(drop),
            // More than a record may hold, at times.
            5 => contents.extend(vec![self.low(); (64 * usize::from(self.count)).min(FLOOD_BYTES_MAX)]),
            _ => contents.drain(begin..end).for_each(drop),
        }
    }

    /// Changes a flight, of which there were `earlier` ones; `plain` is what the client would say unencrypted.
    pub fn change_flight(&self, flight: &mut Vec<u8>, earlier: &[Vec<u8>], plain: &[u8]) {
        let (begin, end) = self.span(flight.len());
        match self.operation() % 14 {
            0 if begin < end => flight[begin] ^= 1 << (self.argument % 8),
            1 if begin < end => flight[begin] = self.low(),
            2 => flight.truncate(begin),
            3 => flight.drain(begin..end).for_each(drop),
            4 => {
                let again = flight[begin..end].repeat(1 + usize::from(self.argument % 4));
                flight.splice(begin..begin, again);
            }
            5 => {
                let inserted = self.inserted();
                flight.splice(begin..begin, inserted);
            }
            6 => self.change_records(flight),
            7 => *flight = self.inserted(),
            8 => {
                if let Some(former) = earlier.get(usize::from(self.argument) % earlier.len().max(1)) {
                    flight.extend_from_slice(former);
                }
            }
            9 => {
                if let Some(former) = earlier.last() {
                    let part = former[..former.len().min(usize::from(self.count))].to_vec();
                    flight.splice(begin..end, part);
                }
            }
            10 => flight.clear(),
            // Readable where it should not be.
            11 => *flight = plain.to_vec(),
            12 => flight.splice(begin..begin, plain.iter().copied()).for_each(drop),
            _ if flight.len() >= 4 => {
                // Where packets and records have their lengths.
                let length = LENGTHS[usize::from(self.count) % LENGTHS.len()].to_be_bytes();
                let at = if self.argument.is_multiple_of(2) { 2 } else { 3 };
                let end = (at + 2).min(flight.len());
                flight[at..end].copy_from_slice(&length[..end - at]);
            }
            _ => {}
        }
    }

    /// Records put in another order, repeated, made of another kind, or given wrong lengths.
    fn change_records(&self, flight: &mut Vec<u8>) {
        let mut records = records(flight);
        if records.is_empty() {
            return;
        }
        let (one, other) = (
            usize::from(self.place) % records.len(),
            usize::from(self.count) % records.len(),
        );
        match self.argument % 6 {
            0 => records.swap(one, other),
            1 => records.insert(other, records[one].clone()),
            2 => records.reverse(),
            3 => drop(records.remove(one)),
            4 => records[one][0] = KINDS[usize::from(self.count) % KINDS.len()],
            _ => {
                let length = LENGTHS[usize::from(self.count) % LENGTHS.len()].to_be_bytes();
                if let Some(place) = records[one].get_mut(3..5) {
                    place.copy_from_slice(&length);
                }
            }
        }
        *flight = records.concat();
    }

    /// What is put into a flight, or stands in its place.
    fn inserted(&self) -> Vec<u8> {
        let [low, high] = self.argument.to_le_bytes();
        let filled = |bytes: u16| vec![high; bytes.into()];
        let many = usize::from(self.count % FLOOD_MAX);
        match low % 12 {
            0 => record(21, &[1, high]),
            1 => record(21, &[2, high]),
            2 => record(23, &filled(self.count)),
            3 => record(20, &[1]),
            // HelloRequest, by which a renegotiation is asked for.
            4 => record(22, &[0, 0, 0, 0]),
            5 => record(KINDS[usize::from(high) % KINDS.len()], &filled(self.count)),
            // Records without contents, many.
            6 => record(KINDS[usize::from(high) % KINDS.len()], &[]).repeat(many),
            7 => record(21, &[1, 90]).repeat(many),
            // The beginning of a handshake's message of 16 MB, over many records.
            8 => [
                &[22, 3, 3, 0, 4, 1, 0xFF, 0xFF, 0xFF][..],
                &record(22, &filled(4_096)).repeat(many % 20),
            ]
            .concat(),
            // A message of many packets that has no end, and one packet that is far longer than there may be.
            9 => [&[0x12, 0, 4, 0, 0, 0, 1, 0][..], &filled(1_016)].concat().repeat(many),
            10 => [0x12, 1, 0x7F, 0xFF, 0, 0, 1, 0].to_vec(),
            // A first message of SSL 2.
            _ => [0x80, 0x2E, 1, 3, high, 0, 0x15, 0, 0, 0, 0x10].to_vec(),
        }
    }

    /// Kind and contents of records that are sealed as they should be; `hello` is the client's first message.
    pub fn forged(&self, hello: &[u8]) -> Vec<(u8, Vec<u8>)> {
        let [low, high] = self.argument.to_le_bytes();
        let many = match low >> 4 {
            0..4 => usize::from(self.count % FLOOD_MAX),
            _ => 1,
        };
        let (kind, contents): (u8, Vec<u8>) = match self.operation() % 18 {
            // Renegotiations: asked for, and begun.
            0 => (22, vec![0, 0, 0, 0]),
            1 => (22, hello.to_vec()),
            2 => (22, vec![24, 0, 0, 1, 0]),
            3 => (22, vec![24, 0, 0, 1, 1]),
            4 => (22, vec![24, 0, 0, 1, high]),
            // The end of a handshake, once more.
            5 => (22, [&[20, 0, 0, 12][..], &[high; 12]].concat()),
            6 => (22, [&[1, 0xFF, 0xFF, 0xFF][..], &[high; 16_000]].concat()),
            7 => (22, [&[high, 0, 0, low][..], &vec![0; low.into()]].concat()),
            8 => (21, vec![1, 90]),
            9 => (21, vec![1, 0]),
            10 => (21, vec![2, high]),
            11 => (21, vec![high; usize::from(low % 5)]),
            12 => (23, Vec::new()),
            13 => (20, vec![1]),
            14 => (
                KINDS[usize::from(high) % KINDS.len()],
                vec![low; usize::from(self.count)],
            ),
            // A packet of TDS that is too long, and a message without an end.
            15 => (23, vec![high % 0x20, 0, 0xFF, 0xFF, 0, 0, 1, 0]),
            16 => (23, [&[1, 0, 4, 0, 0, 0, 1, 0][..], &[0; 1_016]].concat()),
            _ => (23, vec![high; 16_384]),
        };
        let many = many.min(FLOOD_BYTES_MAX / contents.len().max(1));
        vec![(kind, contents); many]
    }
}

/// A record that nothing seals.
pub fn record(kind: u8, contents: &[u8]) -> Vec<u8> {
    let length = u16::try_from(contents.len()).unwrap_or(u16::MAX).to_be_bytes();
    [&[kind, 3, 3, length[0], length[1]], contents].concat()
}

/// A flight's records, the last maybe cut off.
fn records(flight: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let mut rest = flight;
    while let &[_, _, _, high, low, ..] = rest {
        let bytes = RECORD_HEADER_BYTES + usize::from(u16::from_be_bytes([high, low]));
        let (record, behind) = rest.split_at(bytes.min(rest.len()));
        records.push(record.to_vec());
        rest = behind;
    }
    if !rest.is_empty() {
        records.push(rest.to_vec());
    }
    records
}

#[cfg(test)]
mod tests {
    use super::{Edit, records};
    use outside::random::Random;

    #[test]
    fn any_edit_of_any_flight_is_possible() {
        let mut random = Random::new(1);
        let flights = [Vec::new(), vec![22], super::record(22, b"contents").repeat(3)];
        for _ in 0..20_000 {
            let edit = Edit::of(Edit::make(&mut random));
            for flight in &flights {
                edit.change_flight(&mut flight.clone(), &flights[..1], b"plain");
                edit.change_unsealed(&mut 22, &mut flight.clone());
            }
            edit.forged(b"hello");
        }
    }

    #[test]
    fn a_flight_is_cut_into_its_records() {
        let flight = [super::record(22, b"one"), super::record(20, &[1]), vec![23, 3]].concat();
        let parts = records(&flight);
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [8, 6, 2]);
        assert_eq!(parts.concat(), flight);
    }
}
