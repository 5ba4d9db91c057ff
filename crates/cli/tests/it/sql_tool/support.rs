//! A server, folders, and the tool run by pipes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_vlflab");
pub const PASSWORD: &str = workbench::SA_PASSWORD;

/// A folder that is removed when the test is over.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sql-tool-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// A file in it with this text; its path.
    pub fn file(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server on a folder of its own; killed when dropped.
pub struct Serving {
    pub child: Child,
    pub address: String,
    pub folder: Folder,
}

impl Serving {
    pub fn new(name: &str) -> Serving {
        let folder = Folder::new(name);
        let (child, address) = start(&folder);
        Serving { child, address, folder }
    }

    /// Kills it and starts it again, at another port.
    pub fn restart(&mut self) {
        self.kill();
        (self.child, self.address) = start(&self.folder);
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The tool, connected to it.
    pub fn tool(&self, arguments: &[&str]) -> Command {
        let mut command = tool(&[&["-S", &self.address], arguments].concat());
        command.current_dir(&self.folder.0);
        command
    }

    /// What the tool prints and how it ends, with a text as its input.
    pub fn run(&self, arguments: &[&str], input: &str) -> Ran {
        ran(&mut self.tool(arguments), input)
    }
}

fn start(folder: &Folder) -> (Child, String) {
    workbench::store_sa_password(&folder.0.join("data"));
    let mut command = Command::new(PROGRAM);
    command
        .args([
            "serve",
            "--port",
            "0",
            "--until-stdin-closes",
            "--data",
            &folder.path("data"),
        ])
        .env("MSSQL_SA_PASSWORD", PASSWORD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    let (_, address) = ready.split_once("Server=").unwrap();
    let (address, _) = address.split_once(';').unwrap();
    (child, address.to_owned())
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The tool with an environment that holds nothing of its user's.
pub fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("sql").args(arguments);
    for name in [
        "SQLCMDSERVER",
        "SQLCMDUSER",
        "SQLCMDDBNAME",
        "SQLCMDINI",
        "SQLCMDFORMAT",
    ] {
        command.env_remove(name);
    }
    command.env("SQLCMDPASSWORD", PASSWORD);
    command
}

/// How a run ended.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn ran(command: &mut Command, input: &str) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A tool that ended early has read enough.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    Ran {
        code: status.code().unwrap(),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}
