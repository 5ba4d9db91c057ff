//! Media sets: the files to which the sets of a backup are dealt out, and one set read from all of them.
//!
//! | the files given | error |
//! |---|---|
//! | fewer than the media set has | 3132 |
//! | more than it has | 3231 |
//! | one of another media set | 3258 |
//! | one of them twice | 3227 |
//!
//! The files may be given in any order. A set counts when all files have it: a crash between the headers of a set leaves it in some of them, where no
//! reader finds it and the next backup cuts it off.

use super::description::SetDescription;
use super::format::{MediaLabel, SetHeader};
use super::reader::{Chunk, FamilyReader, MediaReader};
use crate::error::{Error, Result};

/// Files of one media set, in the order of their families.
pub struct MediaSet {
    families: Vec<MediaReader>,
    /// Sets that all of the files have.
    set_count: usize,
}

impl MediaSet {
    /// All files of a media set.
    ///
    /// # Errors
    /// See the module; 3242 for files whose sets are not the same.
    pub fn whole(families: Vec<MediaReader>) -> Result<MediaSet> {
        let given = families.len();
        for media in &families {
            let expected = media.label().families;
            if usize::from(expected) < given {
                return Err(Error::other_family_count(media.device(), expected, given));
            }
        }
        let set = MediaSet::some(families)?;
        match set.label().families {
            families if usize::from(families) > given => Err(Error::media_families_missing(families, given)),
            _ => Ok(set),
        }
    }

    /// Some files of a media set, for what each of them says of all.
    ///
    /// # Errors
    /// 3258 and 3227; 3242 for files whose sets are not the same.
    pub fn some(mut families: Vec<MediaReader>) -> Result<MediaSet> {
        let first = families
            .first()
            .ok_or_else(|| Error::assertion("a media set without a file"))?;
        let (guid, count) = (first.label().guid, first.label().families);
        let is_other = |media: &&MediaReader| media.label().guid != guid || media.label().families != count;
        if let Some(other) = families.iter().find(is_other) {
            return Err(Error::of_another_media_set(other.device()));
        }
        // The sort is stable: of two files of one family the one given later is behind the other.
        families.sort_by_key(|media| media.label().family);
        for pair in families.windows(2) {
            if let [one, again] = pair
                && one.label().family == again.label().family
            {
                let family = again.label().family;
                return Err(Error::family_given_twice(again.device(), family, one.device()));
            }
        }
        let set_count = families.iter().map(|media| media.sets().len()).min().unwrap_or(0);
        let sets: Vec<Vec<SetHeader>> = families.iter().map(MediaReader::sets).collect();
        for (media, other) in families.iter().zip(&sets).skip(1) {
            let mut pairs = sets[0].iter().zip(other).take(set_count);
            if !pairs.all(|(one, other)| one.guid == other.guid) {
                return Err(Error::invalid_set(media.device()));
            }
        }
        Ok(MediaSet { families, set_count })
    }

    /// Of the first of the files.
    pub fn label(&self) -> &MediaLabel {
        self.families[0].label()
    }

    /// The labels of all files given.
    pub fn labels(&self) -> Vec<MediaLabel> {
        self.families.iter().map(|media| media.label().clone()).collect()
    }

    /// The files' paths as the statement gives them.
    pub fn devices(&self) -> Vec<String> {
        self.families.iter().map(|media| media.device().to_owned()).collect()
    }

    /// How many sets there are.
    pub fn set_count(&self) -> u32 {
        u32::try_from(self.set_count).unwrap_or(u32::MAX)
    }

    /// The files with the places behind their last common set.
    pub(super) fn into_ends(self) -> impl Iterator<Item = (MediaReader, u64)> {
        let count = self.set_count;
        self.families.into_iter().map(move |media| {
            let end = media.end_of(count);
            (media, end)
        })
    }

    /// The description of the set at `position` (from 1; 0 counts as 1), which every file has.
    ///
    /// # Errors
    /// 3287 when there is none, 3242 when the description is damaged.
    pub fn description(&self, position: u32) -> Result<SetDescription> {
        self.check_position(position)?;
        self.families[0].set(position, self.families.len()).map(|(_, set)| set)
    }

    /// The set at `position` (from 1; 0 counts as 1) with its description.
    ///
    /// # Errors
    /// 3287 when there is none, 3242 when its description is damaged.
    pub fn set(&self, position: u32) -> Result<(SetReader, SetDescription)> {
        self.check_position(position)?;
        let mut readers = Vec::with_capacity(self.families.len());
        let mut described = None;
        for media in &self.families {
            let (reader, description) = media.set(position, self.families.len())?;
            readers.push(reader);
            described.get_or_insert(description);
        }
        let description = described.ok_or_else(|| Error::assertion("a media set without a file"))?;
        Ok((
            SetReader {
                readers,
                turn: 0,
                last: 0,
            },
            description,
        ))
    }

    fn check_position(&self, position: u32) -> Result<()> {
        let position = position.max(1);
        match position > self.set_count() {
            true => Err(Error::no_such_set(position, self.families[0].device())),
            false => Ok(()),
        }
    }
}

/// One set, read chunk by chunk, from all of its files in turn.
pub struct SetReader {
    /// At least one.
    readers: Vec<FamilyReader>,
    /// Whose chunk is next.
    turn: usize,
    /// Whose chunk was handed out last.
    last: usize,
}

impl SetReader {
    /// Bytes that the set takes in all of its files.
    pub fn set_bytes(&self) -> u64 {
        self.readers.iter().map(|reader| reader.header().set_bytes).sum()
    }

    /// The next chunk; `None` behind the last one, once everything about the set has been checked.
    ///
    /// # Errors
    /// 3189 for damage, 3203 when a file cannot be read.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        if let Some(chunk) = self.readers[self.turn].next_chunk()? {
            self.last = self.turn;
            self.turn = (self.turn + 1) % self.readers.len();
            return Ok(Some(chunk));
        }
        // In turn, the others end here as well.
        for reader in &mut self.readers {
            if reader.next_chunk()?.is_some() {
                return Err(Error::damaged_set());
            }
        }
        Ok(None)
    }

    /// The payload of the chunk just read.
    pub fn payload(&self, chunk: &Chunk) -> &[u8] {
        self.readers[self.last].payload(chunk)
    }
}
