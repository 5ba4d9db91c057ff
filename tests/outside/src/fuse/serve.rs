//! Answers requests from a volume.

use super::wire::{Answer, Call, Request};
use crate::volume::{Durability, Volume};
use rustix::io::Errno;

/// Blocks of 4 KB the volume claims to have: 64 GB, so that nobody meets its end.
const BLOCKS: u64 = 1 << 24;

/// Whether a call changes the volume, so that it has a number and the power can go at it.
pub fn is_change(call: &Call<'_>) -> bool {
    match call {
        Call::SetAttributes { size, .. } => size.is_some(),
        Call::MakeDirectory { .. }
        | Call::Unlink { .. }
        | Call::RemoveDirectory { .. }
        | Call::Rename { .. }
        | Call::Create { .. }
        | Call::Write { .. }
        | Call::Sync
        | Call::SyncDirectory
        | Call::Allocate { .. } => true,
        _ => false,
    }
}

/// Does what is asked; `None` when no answer is expected.
pub fn answer(volume: &mut Volume, request: &Request<'_>, durability: Durability) -> Option<Vec<u8>> {
    match &request.call {
        Call::Forget | Call::Interrupt => None,
        _ => Some(match attempt(volume, request, durability) {
            Ok(answer) => answer.finish(),
            Err(errno) => Answer::error(request.unique, errno).finish(),
        }),
    }
}

fn attempt(volume: &mut Volume, request: &Request<'_>, durability: Durability) -> Result<Answer, Errno> {
    let node = request.node;
    let mut answer = Answer::new(request.unique);
    match &request.call {
        Call::Init { minor } => return Answer::init(request.unique, *minor).ok_or(Errno::PROTO),
        Call::Lookup { name } => _ = answer.entry(&volume.lookup(node, name)?),
        Call::GetAttributes => _ = answer.attribute_answer(&volume.attributes(node)?),
        Call::SetAttributes { size, mode } => {
            size.map_or(Ok(()), |size| volume.set_length(node, size))?;
            mode.map_or(Ok(()), |mode| volume.set_permissions(node, mode))?;
            answer.attribute_answer(&volume.attributes(node)?);
        }
        Call::MakeDirectory { name, mode } => _ = answer.entry(&volume.make_directory(node, name, *mode)?),
        Call::Unlink { name } => volume.unlink(node, name)?,
        Call::RemoveDirectory { name } => volume.remove_directory(node, name)?,
        Call::Rename {
            name,
            target,
            target_name,
            no_replace,
        } => {
            volume.rename((node, name), (*target, target_name), *no_replace)?;
        }
        Call::Create { name, mode } => _ = answer.entry(&volume.create(node, name, *mode)?).open(),
        Call::Open => {
            volume.open(node)?;
            answer.open();
        }
        Call::OpenDirectory => _ = answer.open_directory(),
        Call::Read { offset, size } => _ = answer.bytes(&volume.read(node, *offset, *size)?),
        Call::Write { offset, bytes, durable } => {
            volume.write(node, *offset, bytes, *durable, durability)?;
            answer.written(bytes.len() as u32);
        }
        Call::Sync => volume.sync(node, durability)?,
        Call::SyncDirectory => volume.sync_directory(node, durability)?,
        Call::Allocate { offset, length, mode } => volume.allocate(node, *offset, *length, *mode)?,
        Call::StatFileSystem => _ = answer.file_system(BLOCKS, BLOCKS / 2),
        Call::ReadDirectory { offset, size } => {
            for (index, (name, attributes)) in volume.list(node).iter().enumerate().skip(*offset as usize) {
                if !answer.directory_entry(*size, attributes.inode, index as u64 + 1, attributes.mode, name) {
                    break;
                }
            }
        }
        Call::Release => volume.release(node),
        Call::ReleaseDirectory | Call::Flush => {}
        Call::Unknown { .. } | Call::Forget | Call::Interrupt => return Err(Errno::NOSYS),
    }
    Ok(answer)
}
