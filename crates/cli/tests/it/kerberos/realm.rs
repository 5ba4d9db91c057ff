//! A Kerberos realm for tests: MIT's KDC in a folder, on a separate port, with a user, a service and a ticket.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const REALM: &str = "VLFLAB.TEST";
const PASSWORD: &str = "only of this test";
/// Debian has the servers where the PATH of a user does not lead.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/bin", "/sbin"];
/// Another program may take a port between its choice and the KDC.
const TRIES: usize = 5;

fn tool(name: &str) -> Option<PathBuf> {
    let of_path = std::env::var("PATH").unwrap_or_default();
    let folders = of_path.split(':').chain(FOLDERS);
    folders
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.is_file())
}

/// The realm, ended and deleted after the test.
pub(crate) struct Realm {
    folder: PathBuf,
    kdc: Option<Child>,
}

impl Realm {
    /// Makes a realm with this service, and a ticket of its user anna. `None` where the KDC is not installed: the test says so and passes.
    pub(crate) fn start(name: &str, service: &str) -> Option<Realm> {
        for needed in ["krb5kdc", "kdb5_util", "kadmin.local", "kinit"] {
            if tool(needed).is_none() {
                println!("skipped: {needed} is not installed (Debian: krb5-kdc, krb5-admin-server, krb5-user)");
                return None;
            }
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kerberos-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut realm = Realm { folder, kdc: None };
        realm.configure("krb5.conf", 1);
        realm.run("kdb5_util", &["-r", REALM, "create", "-s", "-P", PASSWORD], "");
        realm.administer(&format!("addprinc -pw \"{PASSWORD}\" anna"));
        realm.administer(&format!("addprinc -randkey {service}"));
        let keytab = realm.keytab();
        realm.administer(&format!("ktadd -k {} {service}", keytab.display()));
        for _ in 0..TRIES {
            if realm.serve() {
                realm.run("kinit", &["anna"], &format!("{PASSWORD}\n"));
                return Some(realm);
            }
        }
        panic!("no KDC in {TRIES} tries");
    }

    /// Who the ticket is of.
    pub(crate) fn user() -> String {
        format!("anna@{REALM}")
    }

    pub(crate) fn keytab(&self) -> PathBuf {
        self.folder.join("keytab")
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The environment of a program of this realm.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("KRB5_CONFIG", self.folder.join("krb5.conf")),
            ("KRB5_KDC_PROFILE", self.folder.join("kdc.conf")),
            ("KRB5CCNAME", self.folder.join("tickets")),
        ]
    }

    /// Writes the clients' file of a realm whose KDC is at this port.
    pub(crate) fn configure(&self, name: &str, port: u16) -> PathBuf {
        let path = self.folder.join(name);
        let text = format!(
            "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n dns_canonicalize_hostname = false\n \
             rdns = false\n udp_preference_limit = 1\n[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n[domain_realm]\n localhost = {REALM}\n"
        );
        fs::write(&path, text).unwrap();
        let at = self.folder.display();
        let text = format!(
            "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n {REALM} = {{\n  database_name = \
             {at}/principal\n  key_stash_file = {at}/stash\n  acl_file = {at}/acl\n }}\n[logging]\n default = FILE:{at}/kdc.log\n"
        );
        fs::write(self.folder.join("kdc.conf"), text).unwrap();
        path
    }

    /// Starts the KDC; false where its port was taken.
    fn serve(&mut self) -> bool {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        self.configure("krb5.conf", port);
        let mut command = self.command("krb5kdc", &["-n", "-r", REALM]);
        let pid_file = self.folder.join("kdc.pid");
        let mut kdc = command.arg("-P").arg(pid_file).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(kdc.stderr.take().unwrap()).lines();
        let is_up = lines.map_while(Result::ok).any(|line| line.contains("starting"));
        self.kdc = Some(kdc);
        if !is_up {
            self.end();
        }
        is_up
    }

    fn end(&mut self) {
        if let Some(mut kdc) = self.kdc.take() {
            let _ = kdc.kill();
            let _ = kdc.wait();
        }
    }

    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(tool(name).unwrap());
        command.args(arguments).envs(self.environment());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn administer(&self, query: &str) {
        self.run("kadmin.local", &["-r", REALM, "-q", query], "");
    }

    fn run(&self, name: &str, arguments: &[&str], input: &str) {
        let mut command = self.command(name, arguments);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        self.end();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
