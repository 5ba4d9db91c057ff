//! The permissions of SQL Server: their names, their codes, and the classes of securables that they are for (sql-docs,
//! "sys.fn_builtin_permissions"; VIEW DATABASE PERFORMANCE STATE, and UNMASK on objects and schemas, are of SQL Server 2022).

/// A class of securables of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Database,
    Object,
    Schema,
    User,
    Role,
    Type,
    XmlSchemaCollection,
}

impl Class {
    /// The class that the words before `::` name.
    pub(crate) fn named(words: &str) -> Option<Class> {
        Some(match words {
            "DATABASE" => Class::Database,
            "OBJECT" => Class::Object,
            "SCHEMA" => Class::Schema,
            "USER" => Class::User,
            "ROLE" => Class::Role,
            "TYPE" => Class::Type,
            "XML SCHEMA COLLECTION" => Class::XmlSchemaCollection,
            _ => return None,
        })
    }

    /// The class's name, as messages have it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Class::Database => "database",
            Class::Object => "object",
            Class::Schema => "schema",
            Class::User => "user",
            Class::Role => "role",
            Class::Type => "type",
            Class::XmlSchemaCollection => "xml schema collection",
        }
    }

    /// Its letter in the table of permissions.
    fn letter(self) -> char {
        match self {
            Class::Database => 'D',
            Class::Object => 'O',
            Class::Schema => 'S',
            Class::User => 'U',
            Class::Role => 'R',
            Class::Type => 'T',
            Class::XmlSchemaCollection => 'X',
        }
    }
}

/// A permission of a class.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Permission {
    /// `type`, without its blanks.
    pub(crate) code: &'static str,
    pub(crate) name: &'static str,
    /// The letters of its classes.
    classes: &'static str,
}

const fn permission(code: &'static str, name: &'static str, classes: &'static str) -> Permission {
    Permission { code, name, classes }
}

impl Permission {
    pub(crate) fn is_of(&self, class: Class) -> bool {
        self.classes.contains(class.letter())
    }

    /// The permission with a code; two codes mean different permissions in different classes, but not within a database.
    pub(crate) fn coded(code: &str) -> Option<&'static Permission> {
        PERMISSIONS.iter().find(|permission| permission.code == code)
    }
}

/// The permission of a class with a name, in upper case.
pub(crate) fn permission_named(name: &str, class: Class) -> Option<&'static Permission> {
    let mut all = PERMISSIONS.iter();
    all.find(|permission| permission.name == name && permission.is_of(class))
}

/// Whether a name is that of a permission of the server.
pub(crate) fn is_of_server(name: &str) -> bool {
    OF_SERVER.contains(&name)
}

/// What ALL stands for on the database, or on an object of a kind (`sys.objects.type`): what SQL Server 2000 had (sql-docs, "GRANT object
/// permissions", "GRANT database permissions"). Of sequences and synonyms, which it did not have, those of the same names that apply.
pub(crate) fn of_all(class: Class, kind: &str) -> &'static [&'static str] {
    match (class, kind) {
        (Class::Database, _) => &[
            "BACKUP DATABASE",
            "BACKUP LOG",
            "CREATE DEFAULT",
            "CREATE FUNCTION",
            "CREATE PROCEDURE",
            "CREATE RULE",
            "CREATE TABLE",
            "CREATE VIEW",
        ],
        (_, "P") => &["EXECUTE"],
        (_, "FN") => &["EXECUTE", "REFERENCES"],
        (_, "SO") => &["REFERENCES", "UPDATE"],
        (_, "SN") => &["DELETE", "EXECUTE", "INSERT", "SELECT", "UPDATE"],
        _ => &["DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE"],
    }
}

/// D database, O object, S schema, U user, R role, T type, X XML schema collection.
#[rustfmt::skip]
const PERMISSIONS: [Permission; 81] = [
    permission("AADS", "ALTER ANY DATABASE EVENT SESSION", "D"),
    permission("AAMK", "ALTER ANY MASK", "D"),
    permission("AEDS", "ALTER ANY EXTERNAL DATA SOURCE", "D"),
    permission("AEFF", "ALTER ANY EXTERNAL FILE FORMAT", "D"),
    permission("AL", "ALTER", "DOSURX"),
    permission("ALAK", "ALTER ANY ASYMMETRIC KEY", "D"),
    permission("ALAR", "ALTER ANY APPLICATION ROLE", "D"),
    permission("ALAS", "ALTER ANY ASSEMBLY", "D"),
    permission("ALCF", "ALTER ANY CERTIFICATE", "D"),
    permission("ALCK", "ALTER ANY COLUMN ENCRYPTION KEY", "D"),
    permission("ALCM", "ALTER ANY COLUMN MASTER KEY", "D"),
    permission("ALDA", "ALTER ANY DATABASE AUDIT", "D"),
    permission("ALDC", "ALTER ANY DATABASE SCOPED CONFIGURATION", "D"),
    permission("ALDS", "ALTER ANY DATASPACE", "D"),
    permission("ALED", "ALTER ANY DATABASE EVENT NOTIFICATION", "D"),
    permission("ALFT", "ALTER ANY FULLTEXT CATALOG", "D"),
    permission("ALMT", "ALTER ANY MESSAGE TYPE", "D"),
    permission("ALRL", "ALTER ANY ROLE", "D"),
    permission("ALRT", "ALTER ANY ROUTE", "D"),
    permission("ALSB", "ALTER ANY REMOTE SERVICE BINDING", "D"),
    permission("ALSC", "ALTER ANY CONTRACT", "D"),
    permission("ALSK", "ALTER ANY SYMMETRIC KEY", "D"),
    permission("ALSM", "ALTER ANY SCHEMA", "D"),
    permission("ALSP", "ALTER ANY SECURITY POLICY", "D"),
    permission("ALSV", "ALTER ANY SERVICE", "D"),
    permission("ALTG", "ALTER ANY DATABASE DDL TRIGGER", "D"),
    permission("ALUS", "ALTER ANY USER", "D"),
    permission("AUTH", "AUTHENTICATE", "D"),
    permission("BADB", "BACKUP DATABASE", "D"),
    permission("BALO", "BACKUP LOG", "D"),
    permission("CL", "CONTROL", "DOSURTX"),
    permission("CO", "CONNECT", "D"),
    permission("CORP", "CONNECT REPLICATION", "D"),
    permission("CP", "CHECKPOINT", "D"),
    permission("CRAG", "CREATE AGGREGATE", "D"),
    permission("CRAK", "CREATE ASYMMETRIC KEY", "D"),
    permission("CRAS", "CREATE ASSEMBLY", "D"),
    permission("CRCF", "CREATE CERTIFICATE", "D"),
    permission("CRDB", "CREATE DATABASE", "D"),
    permission("CRDF", "CREATE DEFAULT", "D"),
    permission("CRED", "CREATE DATABASE DDL EVENT NOTIFICATION", "D"),
    permission("CRFN", "CREATE FUNCTION", "D"),
    permission("CRFT", "CREATE FULLTEXT CATALOG", "D"),
    permission("CRMT", "CREATE MESSAGE TYPE", "D"),
    permission("CRPR", "CREATE PROCEDURE", "D"),
    permission("CRQU", "CREATE QUEUE", "D"),
    permission("CRRL", "CREATE ROLE", "D"),
    permission("CRRT", "CREATE ROUTE", "D"),
    permission("CRRU", "CREATE RULE", "D"),
    permission("CRSB", "CREATE REMOTE SERVICE BINDING", "D"),
    permission("CRSC", "CREATE CONTRACT", "D"),
    permission("CRSK", "CREATE SYMMETRIC KEY", "D"),
    permission("CRSM", "CREATE SCHEMA", "D"),
    permission("CRSN", "CREATE SYNONYM", "D"),
    permission("CRSO", "CREATE SEQUENCE", "S"),
    permission("CRSV", "CREATE SERVICE", "D"),
    permission("CRTB", "CREATE TABLE", "D"),
    permission("CRTY", "CREATE TYPE", "D"),
    permission("CRVW", "CREATE VIEW", "D"),
    permission("CRXS", "CREATE XML SCHEMA COLLECTION", "D"),
    permission("DABO", "ADMINISTER DATABASE BULK OPERATIONS", "D"),
    permission("DL", "DELETE", "DOS"),
    permission("EAES", "EXECUTE ANY EXTERNAL SCRIPT", "D"),
    permission("EX", "EXECUTE", "DOSTX"),
    permission("IM", "IMPERSONATE", "U"),
    permission("IN", "INSERT", "DOS"),
    permission("KIDC", "KILL DATABASE CONNECTION", "D"),
    permission("RC", "RECEIVE", "O"),
    permission("RF", "REFERENCES", "DOSTX"),
    permission("SL", "SELECT", "DOS"),
    permission("SPLN", "SHOWPLAN", "D"),
    permission("SUQN", "SUBSCRIBE QUERY NOTIFICATIONS", "D"),
    permission("TO", "TAKE OWNERSHIP", "DOSRTX"),
    permission("UMSK", "UNMASK", "DOS"),
    permission("UP", "UPDATE", "DOS"),
    permission("VDP", "VIEW DATABASE PERFORMANCE STATE", "D"),
    permission("VW", "VIEW DEFINITION", "DOSURTX"),
    permission("VWCK", "VIEW ANY COLUMN ENCRYPTION KEY DEFINITION", "D"),
    permission("VWCM", "VIEW ANY COLUMN MASTER KEY DEFINITION", "D"),
    permission("VWCT", "VIEW CHANGE TRACKING", "OS"),
    permission("VWDS", "VIEW DATABASE STATE", "D"),
];

#[rustfmt::skip]
const OF_SERVER: [&str; 39] = [
    "ADMINISTER BULK OPERATIONS", "ALTER ANY AVAILABILITY GROUP", "ALTER ANY CONNECTION", "ALTER ANY CREDENTIAL", "ALTER ANY DATABASE",
    "ALTER ANY ENDPOINT", "ALTER ANY EVENT NOTIFICATION", "ALTER ANY EVENT SESSION", "ALTER ANY LINKED SERVER", "ALTER ANY LOGIN",
    "ALTER ANY SERVER AUDIT", "ALTER ANY SERVER ROLE", "ALTER RESOURCES", "ALTER SERVER STATE", "ALTER SETTINGS", "ALTER TRACE",
    "AUTHENTICATE SERVER", "CONNECT ANY DATABASE", "CONNECT SQL", "CONTROL SERVER", "CREATE ANY DATABASE", "CREATE AVAILABILITY GROUP",
    "CREATE DDL EVENT NOTIFICATION", "CREATE ENDPOINT", "CREATE LOGIN", "CREATE SERVER ROLE", "CREATE TRACE EVENT NOTIFICATION",
    "EXTERNAL ACCESS ASSEMBLY", "IMPERSONATE ANY LOGIN", "SELECT ALL USER SECURABLES", "SHUTDOWN", "UNSAFE ASSEMBLY", "VIEW ANY DATABASE",
    "VIEW ANY DEFINITION", "VIEW ANY ERROR LOG", "VIEW ANY SECURITY DEFINITION", "VIEW SERVER PERFORMANCE STATE",
    "VIEW SERVER SECURITY STATE", "VIEW SERVER STATE",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_means_one_permission_and_a_name_one_of_its_class() {
        for (place, own) in PERMISSIONS.iter().enumerate() {
            assert!((2..=4).contains(&own.code.len()), "{}", own.code);
            assert_eq!(Permission::coded(own.code), Some(own));
            let again = PERMISSIONS.iter().skip(place + 1);
            assert!(!again.clone().any(|other| other.name == own.name), "{}", own.name);
            assert!(!is_of_server(own.name), "{}", own.name);
        }
        for (class, kind) in [
            (Class::Database, ""),
            (Class::Object, "P"),
            (Class::Object, "FN"),
            (Class::Object, "U"),
        ] {
            for name in of_all(class, kind) {
                assert!(permission_named(name, class).is_some(), "{name}");
            }
        }
        assert!(OF_SERVER.is_sorted());
    }
}
