//! The program's allocator: jemalloc, configured to return unused memory soon.
//!
//! The instance's memory accounting (`engine::memory`) keeps queries within `max server memory`. This limits the process only if freed
//! memory is also returned to the system. The C library's allocator keeps it: each of its heaps shrinks only from its end, and one
//! long-lived value there holds everything below. With 50 statements built to break the server (`tests/outer/limits.rs`, 512 MB), up to 850
//! MB stayed resident.
//!
//! Invariant: the settings are read by the allocator before `main`; nothing in the program can be allocated without them.

use tikv_jemallocator::Jemalloc;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Pages that nobody uses go back to the operating system within 50 ms (`dirty_decay_ms`), by a thread of the library's own
/// (`background_thread`): a session that has nothing to do any more would not come to it. At once would make an INSERT of wide rows
/// 2.4 times as long, for buffers that are wanted again at once. There is no stage in which the system may take pages but still counts
/// them as the process's (`muzzy_decay_ms`), and their addresses go with them, which may be limited (`retain`, `narenas`). Small
/// blocks stay with the thread that freed them for a while. Ends with a zero byte, as the library reads it.
static SETTINGS: [u8; 81] = *b"background_thread:true,dirty_decay_ms:50,muzzy_decay_ms:0,narenas:2,retain:false\0";

/// The pointer under which the library looks for its settings (`malloc_conf` in jemalloc(3), with the prefix of this build of it).
#[allow(
    unsafe_code,
    reason = "the name is how the library finds it; it is the address of a constant that ends with a zero byte"
)]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static MALLOC_CONF: Option<&'static u8> = Some(&SETTINGS[0]);
