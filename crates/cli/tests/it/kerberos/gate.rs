//! A server of the test that takes Windows logins: TDS as far as the login, by the documented bytes, and behind it a server of ours, to
//! which all that follows is passed on. The tokens are accepted by the machine's own Kerberos library.
#![allow(unsafe_code)]

use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io::{Read, Write, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[repr(C)]
struct Buffer {
    length: usize,
    value: *mut c_void,
}

/// `gss_key_value_element_desc` and its set: where a credential comes from.
#[repr(C)]
struct Place {
    key: *const c_char,
    value: *const c_char,
}

#[repr(C)]
struct Places {
    count: u32,
    elements: *const Place,
}

type Acquire = unsafe extern "C" fn(
    *mut u32,
    *mut c_void,
    u32,
    *mut c_void,
    c_int,
    *const Places,
    *mut *mut c_void,
    *mut c_void,
    *mut u32,
) -> u32;
type Accept = unsafe extern "C" fn(
    *mut u32,
    *mut *mut c_void,
    *mut c_void,
    *mut Buffer,
    *mut c_void,
    *mut *mut c_void,
    *mut c_void,
    *mut Buffer,
    *mut u32,
    *mut u32,
    *mut c_void,
) -> u32;
type DisplayName = unsafe extern "C" fn(*mut u32, *mut c_void, *mut Buffer, *mut c_void) -> u32;

/// `GSS_C_ACCEPT`.
const TO_ACCEPT: c_int = 2;

/// Accepts a token by the keys of a file: who sent it, and the server's proof. What the library allocates lasts as long as the test.
fn accept(token: &[u8], keytab: &Path) -> (String, Vec<u8>) {
    let text = |text: &str| CString::new(text).unwrap();
    let (keys, file) = (text("keytab"), text(keytab.to_str().unwrap()));
    let (replays, none) = (text("rcache"), text("none:"));
    let places = [
        Place {
            key: keys.as_ptr(),
            value: file.as_ptr(),
        },
        Place {
            key: replays.as_ptr(),
            value: none.as_ptr(),
        },
    ];
    let set = Places {
        count: 2,
        elements: places.as_ptr(),
    };
    let empty = || Buffer {
        length: 0,
        value: ptr::null_mut(),
    };
    let (mut minor, mut flags) = (0, 0);
    let (mut credential, mut context, mut who) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let mut input = Buffer {
        length: token.len(),
        value: token.as_ptr().cast_mut().cast(),
    };
    let (mut proof, mut name) = (empty(), empty());
    // SAFETY: the functions are those of RFC 2744 and of MIT krb5's extension for credentials, by their C bindings; every pointer is to a value
    // of this frame, or null where the answer is not wanted. The buffers that the library fills are copied before it is unloaded.
    unsafe {
        let library = Library::new("libgssapi_krb5.so.2").unwrap();
        let acquire = library.get::<Acquire>(b"gss_acquire_cred_from\0").unwrap();
        let acquired = acquire(
            &raw mut minor,
            ptr::null_mut(),
            u32::MAX,
            ptr::null_mut(),
            TO_ACCEPT,
            &raw const set,
            &raw mut credential,
            ptr::null_mut(),
            ptr::null_mut(),
        );
        assert_eq!(acquired, 0, "no key, minor {minor}");
        let accept = library.get::<Accept>(b"gss_accept_sec_context\0").unwrap();
        let accepted = accept(
            &raw mut minor,
            &raw mut context,
            credential,
            &raw mut input,
            ptr::null_mut(),
            &raw mut who,
            ptr::null_mut(),
            &raw mut proof,
            &raw mut flags,
            ptr::null_mut(),
            ptr::null_mut(),
        );
        assert_eq!(accepted, 0, "not accepted, minor {minor}");
        let display = library.get::<DisplayName>(b"gss_display_name\0").unwrap();
        assert_eq!(display(&raw mut minor, who, &raw mut name, ptr::null_mut()), 0);
        let bytes = |buffer: &Buffer| std::slice::from_raw_parts(buffer.value.cast::<u8>(), buffer.length).to_vec();
        (String::from_utf8(bytes(&name)).unwrap(), bytes(&proof))
    }
}

/// How the gate answers a login.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    /// Its proof and LOGINACK in one message.
    AtOnce,
    /// Its proof first; LOGINACK after the client's answer to it.
    InTwoLegs,
    /// LOGINACK, and no proof.
    WithoutProof,
}

/// One message: its kind and payload.
fn message(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut payload = Vec::new();
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header).unwrap();
        let mut part = vec![0; usize::from(u16::from_be_bytes([header[2], header[3]])) - 8];
        stream.read_exact(&mut part).unwrap();
        payload.extend(part);
        if header[1] & 1 == 1 {
            return (header[0], payload);
        }
    }
}

fn answer(stream: &mut TcpStream, payload: &[u8]) {
    let length = (payload.len() as u16 + 8).to_be_bytes();
    let mut bytes = vec![4, 1, length[0], length[1], 0, 0, 1, 0];
    bytes.extend_from_slice(payload);
    stream.write_all(&bytes).unwrap();
}

/// PRELOGIN's answer: version 12.0, no encryption ([MS-TDS] 2.2.6.5).
const PRELOGIN: [u8; 18] = [0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 12, 0, 0, 200, 0, 0, 2];

/// LOGINACK of TDS 7.4 by "SQL", and DONE ([MS-TDS] 2.2.7.14, 2.2.7.6).
fn acknowledged() -> Vec<u8> {
    let mut token = vec![0xAD, 16, 0, 1, 0x74, 0, 0, 4, 3];
    token.extend_from_slice(b"S\0Q\0L\0");
    token.extend_from_slice(&[12, 0, 0, 200, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    token
}

/// The SSPI token ([MS-TDS] 2.2.7.22).
fn sspi(proof: &[u8]) -> Vec<u8> {
    let mut token = vec![0xED];
    token.extend_from_slice(&(proof.len() as u16).to_le_bytes());
    token.extend_from_slice(proof);
    token
}

/// The token in LOGIN7; it has no user's name and no password, and says fIntSecurity ([MS-TDS] 2.2.6.4).
fn token_of(login: &[u8]) -> Vec<u8> {
    let short = |place: usize| usize::from(u16::from_le_bytes([login[place], login[place + 1]]));
    assert_eq!(login[25] & 0x80, 0x80, "fIntSecurity");
    assert_eq!((short(42), short(46)), (0, 0), "neither user nor password");
    login[short(78)..short(78) + short(80)].to_vec()
}

/// Takes one login of `listener` and answers who it was; then passes everything on to `behind` and back until the client leaves.
pub(crate) fn take(listener: &TcpListener, manner: Manner, keytab: &Path, behind: Option<TcpStream>) -> String {
    let (mut client, _) = listener.accept().unwrap();
    let who = admit(&mut client, manner, keytab);
    if let Some(server) = behind {
        pass_on(client, server);
    }
    who
}

/// Takes every login of `listener`, as many at a time as clients keep, until a client comes after `is_over`; who they were.
pub(crate) fn take_all(
    listener: &TcpListener,
    keytab: &Path,
    behind: impl Fn() -> TcpStream,
    is_over: &AtomicBool,
) -> Vec<String> {
    let mut all = Vec::new();
    thread::scope(|scope| {
        loop {
            let (mut client, _) = listener.accept().unwrap();
            if is_over.load(Ordering::SeqCst) {
                break;
            }
            all.push(admit(&mut client, Manner::InTwoLegs, keytab));
            let server = behind();
            scope.spawn(move || pass_on(client, server));
        }
    });
    all
}

/// The login of a client, up to LOGINACK; who it is.
fn admit(client: &mut TcpStream, manner: Manner, keytab: &Path) -> String {
    assert_eq!(message(client).0, 18, "PRELOGIN");
    answer(client, &PRELOGIN);
    let (kind, login) = message(client);
    assert_eq!(kind, 16, "LOGIN7");
    let (who, proof) = accept(&token_of(&login), keytab);
    match manner {
        Manner::AtOnce => answer(client, &[sspi(&proof), acknowledged()].concat()),
        Manner::WithoutProof => answer(client, &acknowledged()),
        Manner::InTwoLegs => {
            answer(client, &sspi(&proof));
            assert_eq!(message(client), (17, Vec::new()), "nothing is left to prove");
            answer(client, &acknowledged());
        }
    }
    who
}

/// Everything of the client to the server and back, until one of them leaves.
fn pass_on(mut client: TcpStream, mut server: TcpStream) {
    let (mut from_server, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::scope(|scope| {
        scope.spawn(move || {
            let _ = copy(&mut from_server, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Both);
        });
        // A client that leaves in the middle of an answer breaks this off; that is its end as well.
        let _ = copy(&mut client, &mut server);
        let _ = server.shutdown(Shutdown::Both);
    });
}
