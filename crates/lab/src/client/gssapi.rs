//! The few calls of GSS-API (RFC 2744) that a client of Kerberos needs, from the library of the machine: MIT krb5's `libgssapi_krb5.so.2`.
//!
//! It is loaded at the first login that needs it, so the program does not need Kerberos to be built or to run. The static program
//! (packaging/static) loads no libraries.
//!
//! This is the one file of the client with `unsafe`: foreign functions, and the memory that they hand out. Invariant: a pointer of the
//! library's lives in a [`Context`], which frees it, and whatever the library allocates for an answer is copied and freed at once.
#![allow(unsafe_code)]

use libloading::{Library, Symbol};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

/// The library's name at run time, on every Linux that has MIT krb5.
pub(super) const LIBRARY: &str = "libgssapi_krb5.so.2";

type Status = u32;

/// `gss_buffer_desc`: bytes and how many.
#[repr(C)]
struct Buffer {
    length: usize,
    value: *mut c_void,
}

/// `gss_OID_desc`, the same for the encoding of an object identifier.
#[repr(C)]
struct Oid {
    length: u32,
    elements: *mut c_void,
}

type ImportName = unsafe extern "C" fn(*mut Status, *mut Buffer, *mut Oid, *mut *mut c_void) -> Status;
type ReleaseName = unsafe extern "C" fn(*mut Status, *mut *mut c_void) -> Status;
type InitSecContext = unsafe extern "C" fn(
    *mut Status,
    *mut c_void,
    *mut *mut c_void,
    *mut c_void,
    *mut Oid,
    u32,
    u32,
    *mut c_void,
    *mut Buffer,
    *mut *mut Oid,
    *mut Buffer,
    *mut u32,
    *mut u32,
) -> Status;
type DeleteSecContext = unsafe extern "C" fn(*mut Status, *mut *mut c_void, *mut Buffer) -> Status;
type ReleaseBuffer = unsafe extern "C" fn(*mut Status, *mut Buffer) -> Status;
type DisplayStatus = unsafe extern "C" fn(*mut Status, Status, c_int, *mut Oid, *mut u32, *mut Buffer) -> Status;

/// 1.2.840.113554.1.2.2: Kerberos itself, without the envelope of SPNEGO (RFC 1964). SQL Server takes both; FreeTDS and tiberius send this.
const MECHANISM: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02";
/// 1.2.840.113554.1.2.1.4, `GSS_C_NT_HOSTBASED_SERVICE`: `service@host`, the host made whole by DNS and its realm found as krb5.conf says.
const HOST_BASED: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04";
/// 1.2.840.113554.1.2.2.1, `GSS_KRB5_NT_PRINCIPAL_NAME`: a principal as it is written.
const PRINCIPAL: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01";

/// `GSS_C_MUTUAL_FLAG`: the server proves who it is, too. And its messages are not repeated ones.
const MUTUAL: u32 = 2;
const REPLAY: u32 = 4;
const CONTINUE_NEEDED: Status = 1;
/// Where the routine errors of a status stand, and those that say that there is no ticket (RFC 2744, 3.9.1).
const ROUTINE_ERRORS: Status = 0x00ff_0000;
const CALLING_ERRORS: Status = 0xff00_0000;
const NO_CREDENTIALS: [Status; 3] = [7 << 16, 10 << 16, 11 << 16];
/// Kinds of status for `gss_display_status`: of GSS-API itself, of the mechanism.
const OF_GSS: c_int = 1;
const OF_MECHANISM: c_int = 2;
/// A status has no more sentences than this.
const SENTENCES_MAX: usize = 8;

/// Whose ticket is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServiceName {
    /// `MSSQLSvc@host:port`.
    OfHost(String),
    /// `MSSQLSvc/host:port`, `MSSQLSvc/host:port@REALM`, as registered.
    Principal(String),
}

/// What a step came to.
#[derive(Debug)]
pub(super) struct Step {
    /// For the server; may be empty.
    pub(super) token: Vec<u8>,
    /// Both sides are sure of each other.
    pub(super) is_complete: bool,
}

/// Why there is no token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The machine lacks the library; the loader's own words.
    NoLibrary(String),
    /// There is no ticket, or one that has expired.
    NoTicket(String),
    Other(String),
}

/// The functions, for as long as the process lives.
struct Functions {
    import_name: ImportName,
    release_name: ReleaseName,
    init_sec_context: InitSecContext,
    delete_sec_context: DeleteSecContext,
    release_buffer: ReleaseBuffer,
    display_status: DisplayStatus,
    /// Whose code they are.
    _library: Library,
}

/// Loads the library once; a failure stays one, for nothing that this process does installs it.
fn functions() -> Result<&'static Functions, Failure> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    let loaded = FUNCTIONS.get_or_init(load);
    loaded.as_ref().map_err(|reason| Failure::NoLibrary(reason.clone()))
}

#[cfg(target_feature = "crt-static")]
fn load() -> Result<Functions, String> {
    Err("this is the static program, which loads no libraries; take the one of a package".to_owned())
}

#[cfg(not(target_feature = "crt-static"))]
fn load() -> Result<Functions, String> {
    // SAFETY: the library is the system's own by its name and version; its start-up code sets up locks and tables of its own alone.
    let library = unsafe { Library::new(LIBRARY) }.map_err(|error| error.to_string())?;
    Ok(Functions {
        import_name: function(&library, b"gss_import_name\0")?,
        release_name: function(&library, b"gss_release_name\0")?,
        init_sec_context: function(&library, b"gss_init_sec_context\0")?,
        delete_sec_context: function(&library, b"gss_delete_sec_context\0")?,
        release_buffer: function(&library, b"gss_release_buffer\0")?,
        display_status: function(&library, b"gss_display_status\0")?,
        _library: library,
    })
}

#[cfg(not(target_feature = "crt-static"))]
fn function<F: Copy>(library: &Library, name: &[u8]) -> Result<F, String> {
    // SAFETY: every caller asks for a function of RFC 2744 by its name, with the type that its C binding gives it, whose layout version 2 of
    // the library keeps. The pointer is used no longer than the library, which is kept beside it.
    let symbol: Result<Symbol<'_, F>, _> = unsafe { library.get(name) };
    symbol.map(|symbol| *symbol).map_err(|error| error.to_string())
}

/// One login under way. It stays on the thread that began it.
pub(super) struct Context {
    functions: &'static Functions,
    /// `gss_name_t` of the service.
    name: *mut c_void,
    /// `gss_ctx_id_t`; null before the first step.
    context: *mut c_void,
}

/// A buffer of the library's own that holds nothing yet.
const fn empty() -> Buffer {
    Buffer {
        length: 0,
        value: ptr::null_mut(),
    }
}

/// Bytes of ours, to be read by the library.
fn borrowed(bytes: &[u8]) -> Buffer {
    Buffer {
        length: bytes.len(),
        value: bytes.as_ptr().cast_mut().cast(),
    }
}

fn oid(bytes: &'static [u8]) -> Oid {
    Oid {
        length: u32::try_from(bytes.len()).unwrap_or(0),
        elements: bytes.as_ptr().cast_mut().cast(),
    }
}

impl Functions {
    /// The bytes of a buffer that the library filled, which is freed.
    fn taken(&self, mut buffer: Buffer) -> Vec<u8> {
        let bytes = if buffer.value.is_null() || buffer.length == 0 {
            Vec::new()
        } else {
            // SAFETY: the library filled the buffer, so that many bytes stand at its value until it is released below.
            unsafe { std::slice::from_raw_parts(buffer.value.cast::<u8>(), buffer.length) }.to_vec()
        };
        let mut minor = 0;
        // SAFETY: the buffer is one that the library filled or left empty, released here once.
        unsafe { (self.release_buffer)(&raw mut minor, &raw mut buffer) };
        bytes
    }

    /// The sentences of a status.
    fn sentences(&self, status: Status, kind: c_int) -> String {
        let mut sentences = Vec::new();
        let mut mechanism = oid(MECHANISM);
        let mut more = 0;
        for _ in 0..SENTENCES_MAX {
            let (mut minor, mut text) = (0, empty());
            // SAFETY: all pointers are to values of this frame, which outlive the call; the library fills `text`.
            let displayed = unsafe {
                (self.display_status)(
                    &raw mut minor,
                    status,
                    kind,
                    &raw mut mechanism,
                    &raw mut more,
                    &raw mut text,
                )
            };
            let text = self.taken(text);
            if displayed & (ROUTINE_ERRORS | CALLING_ERRORS) != 0 {
                break;
            }
            sentences.push(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned());
            if more == 0 {
                break;
            }
        }
        sentences.join(", ")
    }

    /// Why a call failed. The mechanism's own sentence says more than that of GSS-API.
    fn failure(&self, major: Status, minor: Status) -> Failure {
        let sentence = match minor {
            0 => String::new(),
            minor => self.sentences(minor, OF_MECHANISM),
        };
        let sentence = match sentence.as_str() {
            "" => self.sentences(major, OF_GSS),
            _ => sentence,
        };
        match NO_CREDENTIALS.contains(&(major & ROUTINE_ERRORS)) {
            true => Failure::NoTicket(sentence),
            false => Failure::Other(sentence),
        }
    }
}

impl Context {
    /// Loads the library, if no one has, and takes in the service's name.
    pub(super) fn new(service: &ServiceName) -> Result<Context, Failure> {
        let functions = functions()?;
        let (text, kind) = match service {
            ServiceName::OfHost(name) => (name, HOST_BASED),
            ServiceName::Principal(name) => (name, PRINCIPAL),
        };
        let (mut minor, mut kind, mut text) = (0, oid(kind), borrowed(text.as_bytes()));
        let mut name = ptr::null_mut();
        // SAFETY: all pointers are to values of this frame; the library copies the text and hands out a name, which the context releases.
        let major = unsafe { (functions.import_name)(&raw mut minor, &raw mut text, &raw mut kind, &raw mut name) };
        if major & (ROUTINE_ERRORS | CALLING_ERRORS) != 0 {
            return Err(functions.failure(major, minor));
        }
        Ok(Context {
            functions,
            name,
            context: ptr::null_mut(),
        })
    }

    /// The next token for the server, after `received` from it; nothing is received before the first. It may ask a Kerberos server over
    /// the network, and wait for it.
    pub(super) fn step(&mut self, received: &[u8]) -> Result<Step, Failure> {
        let (mut minor, mut mechanism, mut input, mut output) = (0, oid(MECHANISM), borrowed(received), empty());
        let no_credential = ptr::null_mut();
        let no_bindings = ptr::null_mut();
        // SAFETY: name and context are the library's own, still held, and used by this thread alone; null where it is to begin, to take the
        // default credential, and for answers that nobody wants. The buffers are of this frame: it reads `input` and fills `output`.
        let major = unsafe {
            (self.functions.init_sec_context)(
                &raw mut minor,
                no_credential,
                &raw mut self.context,
                self.name,
                &raw mut mechanism,
                MUTUAL | REPLAY,
                0,
                no_bindings,
                &raw mut input,
                ptr::null_mut(),
                &raw mut output,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        let token = self.functions.taken(output);
        if major & (ROUTINE_ERRORS | CALLING_ERRORS) != 0 {
            return Err(self.functions.failure(major, minor));
        }
        Ok(Step {
            token,
            is_complete: major & CONTINUE_NEEDED == 0,
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: both are the library's own or null, which it takes too; nothing uses them after this.
        unsafe {
            (self.functions.delete_sec_context)(&raw mut minor, &raw mut self.context, ptr::null_mut());
            (self.functions.release_name)(&raw mut minor, &raw mut self.name);
        }
    }
}
