//! The Credit database in T-SQL: files in the published shape, alias types, tables with their keys.
//!
//! Data file 1000 MB; log file 400 MB with 15 VLFs, which no single size gives: 768 KB (3) grown to 64 MB (4) and to 400 MB
//! (8), by the rules of SQL Server 2008; growth 10 % and recovery model SIMPLE, as Berry describes the downloaded copy.
//! Column types, keys, indexes, defaults and checks are those of the published database, as two public scripts of its schema have them
//! alike (a scripting of all its objects, and the tables of a database project). So a charge is a row of four indexes. A default whose
//! name is not known is named by the server.

pub(super) const DATABASE: &str = "Credit";
/// Where its files are while it is made, as a script names them.
pub(super) const FOLDER: &str = r"C:\Credit";

/// Creates the database with its files. One batch each.
pub(super) const FILES: [&str; 4] = [
    r"CREATE DATABASE Credit
ON PRIMARY (NAME = N'CreditData', FILENAME = N'C:\Credit\CreditData.mdf', SIZE = 1000MB, FILEGROWTH = 10%)
LOG ON (NAME = N'CreditLog', FILENAME = N'C:\Credit\CreditLog.ldf', SIZE = 768KB, FILEGROWTH = 10%)",
    "ALTER DATABASE Credit MODIFY FILE (NAME = N'CreditLog', SIZE = 64MB)",
    "ALTER DATABASE Credit MODIFY FILE (NAME = N'CreditLog', SIZE = 400MB)",
    "ALTER DATABASE Credit SET RECOVERY SIMPLE",
];

/// Creates the alias types. One batch.
pub(super) const TYPES: &str = "
CREATE TYPE dbo.numeric_id FROM int NOT NULL
CREATE TYPE dbo.normstring FROM varchar(31) NOT NULL
CREATE TYPE dbo.shortstring FROM varchar(15) NOT NULL
CREATE TYPE dbo.letter FROM char(1) NULL
CREATE TYPE dbo.statecode FROM char(2) NOT NULL
CREATE TYPE dbo.countrycode FROM char(2) NOT NULL
CREATE TYPE dbo.mailcode FROM char(10) NOT NULL
CREATE TYPE dbo.phonenumber FROM char(13) NULL
CREATE TYPE dbo.status_code FROM char(2) NOT NULL";

/// A table of the sample.
pub(super) struct SampleTable {
    pub(super) name: &'static str,
    /// The statement that creates it.
    pub(super) create: &'static str,
    /// Its nonclustered indexes: name and column. They are made when its rows are there.
    pub(super) indexes: &'static [(&'static str, &'static str)],
}

/// Tables come after those they refer to.
pub(super) const TABLES: [SampleTable; 10] = [
    SampleTable {
        name: "status",
        create: "CREATE TABLE dbo.status (status_code status_code CONSTRAINT status_ident PRIMARY KEY CLUSTERED, status_desc normstring)",
        indexes: &[],
    },
    SampleTable {
        name: "region",
        create: "CREATE TABLE dbo.region (region_no numeric_id IDENTITY CONSTRAINT region_ident PRIMARY KEY CLUSTERED,
region_name shortstring, street shortstring, city shortstring, state_prov statecode, country countrycode,
mail_code mailcode, phone_no phonenumber, region_code status_code CONSTRAINT region_status_default DEFAULT '  ')",
        indexes: &[],
    },
    SampleTable {
        name: "category",
        create: "CREATE TABLE dbo.category (category_no numeric_id IDENTITY CONSTRAINT category_ident PRIMARY KEY CLUSTERED,
category_desc normstring, category_code status_code CONSTRAINT category_status_default DEFAULT '  ')",
        indexes: &[],
    },
    SampleTable {
        name: "corporation",
        create: "CREATE TABLE dbo.corporation (corp_no numeric_id IDENTITY CONSTRAINT corporation_ident PRIMARY KEY CLUSTERED,
corp_name normstring, street shortstring, city shortstring, state_prov statecode, country countrycode,
mail_code mailcode, phone_no phonenumber, expr_dt datetime NOT NULL,
region_no numeric_id CONSTRAINT corporation_region_link REFERENCES dbo.region (region_no),
corp_code status_code CONSTRAINT corporation_status_default DEFAULT '  ')",
        indexes: &[("corporation_region_link", "region_no")],
    },
    SampleTable {
        name: "provider",
        create: "CREATE TABLE dbo.provider (provider_no numeric_id IDENTITY CONSTRAINT provider_ident PRIMARY KEY CLUSTERED,
provider_name shortstring, street shortstring, city shortstring, state_prov statecode, mail_code mailcode,
country countrycode, phone_no phonenumber, issue_dt datetime NOT NULL DEFAULT getdate(),
expr_dt datetime NOT NULL DEFAULT dateadd(year, 1, getdate()),
region_no numeric_id CONSTRAINT provider_region_link REFERENCES dbo.region (region_no),
provider_code status_code CONSTRAINT provider_status_default DEFAULT '  ')",
        indexes: &[("provider_region_link", "region_no")],
    },
    SampleTable {
        name: "member",
        create: "CREATE TABLE dbo.member (member_no numeric_id IDENTITY CONSTRAINT member_ident PRIMARY KEY CLUSTERED,
lastname shortstring, firstname shortstring, middleinitial letter NULL, street shortstring, city shortstring,
state_prov statecode, country countrycode, mail_code mailcode, phone_no phonenumber NULL, photograph image NULL,
issue_dt datetime NOT NULL DEFAULT getdate(), expr_dt datetime NOT NULL DEFAULT dateadd(year, 1, getdate()),
region_no numeric_id CONSTRAINT member_region_link REFERENCES dbo.region (region_no),
corp_no numeric_id NULL CONSTRAINT member_corporation_link REFERENCES dbo.corporation (corp_no),
prev_balance money NOT NULL DEFAULT 0, curr_balance money NOT NULL DEFAULT 0,
member_code status_code CONSTRAINT member_status_default DEFAULT '  ')",
        indexes: &[
            ("member_corporation_link", "corp_no"),
            ("member_region_link", "region_no"),
        ],
    },
    SampleTable {
        name: "member2",
        create: "CREATE TABLE dbo.member2 (member_no numeric_id IDENTITY CONSTRAINT member2_ident PRIMARY KEY CLUSTERED,
lastname shortstring, firstname shortstring, middleinitial letter NULL, street shortstring, city shortstring,
state_prov statecode, country countrycode, mail_code mailcode, phone_no phonenumber NULL, photograph image NULL,
issue_dt datetime NOT NULL, expr_dt datetime NOT NULL, region_no numeric_id, corp_no numeric_id NULL,
prev_balance money NOT NULL, curr_balance money NOT NULL, member_code status_code)",
        indexes: &[("member2CorpFK", "corp_no"), ("member2RegionFK", "region_no")],
    },
    SampleTable {
        name: "statement",
        create: "CREATE TABLE dbo.statement (statement_no numeric_id IDENTITY CONSTRAINT statement_ident PRIMARY KEY CLUSTERED,
member_no numeric_id CONSTRAINT statement_member_link REFERENCES dbo.member (member_no),
statement_dt datetime NOT NULL, due_dt datetime NOT NULL, statement_amt money NOT NULL,
statement_code status_code CONSTRAINT statement_status_default DEFAULT '  ',
CONSTRAINT statement_dt_rule CHECK (due_dt >= statement_dt))",
        indexes: &[("statement_member_link", "member_no")],
    },
    SampleTable {
        name: "payment",
        create: "CREATE TABLE dbo.payment (payment_no numeric_id IDENTITY CONSTRAINT payment_ident PRIMARY KEY CLUSTERED,
member_no numeric_id CONSTRAINT payment_member_link REFERENCES dbo.member (member_no),
payment_dt datetime NOT NULL, payment_amt money NOT NULL CONSTRAINT payment_amount_rule CHECK (payment_amt <> 0),
statement_no numeric_id NULL DEFAULT 0, payment_code status_code CONSTRAINT payment_status_default DEFAULT '  ')",
        indexes: &[("payment_member_link", "member_no")],
    },
    SampleTable {
        name: "charge",
        create: "CREATE TABLE dbo.charge (charge_no numeric_id IDENTITY CONSTRAINT ChargePK PRIMARY KEY CLUSTERED,
member_no numeric_id CONSTRAINT charge_member_link REFERENCES dbo.member (member_no),
provider_no numeric_id CONSTRAINT charge_provider_link REFERENCES dbo.provider (provider_no),
category_no numeric_id CONSTRAINT charge_category_link REFERENCES dbo.category (category_no),
charge_dt datetime NOT NULL, charge_amt money NOT NULL,
statement_no numeric_id CONSTRAINT charge_statement_no_default DEFAULT 0,
charge_code status_code CONSTRAINT charge_status_default DEFAULT '  ')",
        indexes: &[
            ("charge_category_link", "category_no"),
            ("charge_provider_link", "provider_no"),
            ("charge_statement_link", "statement_no"),
        ],
    },
];
