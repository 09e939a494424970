//! The schema and the state of the database of a server.

/// The versions before and after a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version before; 0 for a new database.
    pub from: i32,
    /// The version now.
    pub to: i32,
}

/// The state of a session database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// The version of the server.
    pub server: String,
    /// The schema version; `None` before the first migration.
    pub schema: Option<i32>,
    /// The schema versions that this program can use.
    pub supported: (i32, i32),
    /// The settings that matter for durability.
    pub settings: Vec<Setting>,
    /// The processes that are registered and alive.
    pub nodes: Vec<String>,
    /// What keeps this program from using the database, in words.
    pub problems: Vec<String>,
}

/// A process that shares a session database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeState {
    /// Its id.
    pub id: String,
    /// The machine that it runs on.
    pub host: String,
    /// Its process there.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Where other processes reach it, if they do.
    pub address: Option<String>,
    /// Whether it gives its sessions away.
    pub is_draining: bool,
    /// Until when it counts as alive without a further sign, in milliseconds since the epoch.
    pub expires: i64,
}

/// A setting of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What is wrong with it, and what to do; `None` if it is fine.
    pub problem: Option<String>,
}
