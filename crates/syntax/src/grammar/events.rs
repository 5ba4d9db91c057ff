//! The events of DDL triggers of a database, and the tree of event groups.
//!
//! ```text
//! DDL_EVENTS
//!   DDL_DATABASE_LEVEL_EVENTS        events inside a database
//!     DDL_TABLE_VIEW_EVENTS
//!       DDL_TABLE_EVENTS             CREATE_TABLE, ALTER_TABLE, DROP_TABLE
//!       ...
//!   DDL_SERVER_LEVEL_EVENTS          no trigger of a database fires for these: 1098
//! ```
//! The tree is that of SQL Server's documentation (sql-docs, "DDL event groups"), the numbers are those of its clients (dotnet/SqlClient,
//! `EMDEventType`) and of `sys.trigger_event_types`.

/// An event, or a group of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventType {
    /// Its number in `sys.trigger_event_types`; groups begin at 10001.
    pub number: u16,
    /// Its name in upper case.
    pub name: &'static str,
    /// The group that it is in; 0 for those in none.
    pub parent: u16,
}

/// The first number of groups.
const FIRST_GROUP: u16 = 10_001;
/// The group of all that happens inside of a database.
const DATABASE_LEVEL: u16 = 10_016;
/// The group that has that one in it.
const EVERYTHING: u16 = 10_001;

impl EventType {
    /// The event or group of that name, in any case.
    pub fn named(name: &str) -> Option<&'static EventType> {
        EVENT_TYPES.iter().find(|event| event.name.eq_ignore_ascii_case(name))
    }

    /// The event or group with that number.
    pub fn numbered(number: u16) -> Option<&'static EventType> {
        EVENT_TYPES.iter().find(|event| event.number == number)
    }

    /// Whether it is a group.
    pub fn is_group(&self) -> bool {
        self.number >= FIRST_GROUP
    }

    /// Whether it is that event or group, or within it.
    pub fn is_within(&self, group: u16) -> bool {
        let parent = |event: &&'static EventType| EventType::numbered(event.parent);
        let mut above = std::iter::successors(EventType::numbered(self.parent), parent);
        self.number == group || above.any(|event| event.number == group)
    }

    /// Whether a trigger of a database can fire for it.
    pub fn is_of_database(&self) -> bool {
        self.number == EVERYTHING || self.is_within(DATABASE_LEVEL)
    }
}

/// All of them, by their numbers.
pub const EVENT_TYPES: &[EventType] = &[
    event(21, "CREATE_TABLE", 10_018),
    event(22, "ALTER_TABLE", 10_018),
    event(23, "DROP_TABLE", 10_018),
    event(24, "CREATE_INDEX", 10_020),
    event(25, "ALTER_INDEX", 10_020),
    event(26, "DROP_INDEX", 10_020),
    event(27, "CREATE_STATISTICS", 10_021),
    event(28, "UPDATE_STATISTICS", 10_021),
    event(29, "DROP_STATISTICS", 10_021),
    event(34, "CREATE_SYNONYM", 10_022),
    event(36, "DROP_SYNONYM", 10_022),
    event(41, "CREATE_VIEW", 10_019),
    event(42, "ALTER_VIEW", 10_019),
    event(43, "DROP_VIEW", 10_019),
    event(51, "CREATE_PROCEDURE", 10_024),
    event(52, "ALTER_PROCEDURE", 10_024),
    event(53, "DROP_PROCEDURE", 10_024),
    event(61, "CREATE_FUNCTION", 10_023),
    event(62, "ALTER_FUNCTION", 10_023),
    event(63, "DROP_FUNCTION", 10_023),
    event(71, "CREATE_TRIGGER", 10_025),
    event(72, "ALTER_TRIGGER", 10_025),
    event(73, "DROP_TRIGGER", 10_025),
    event(74, "CREATE_EVENT_NOTIFICATION", 10_026),
    event(76, "DROP_EVENT_NOTIFICATION", 10_026),
    event(91, "CREATE_TYPE", 10_028),
    event(93, "DROP_TYPE", 10_028),
    event(101, "CREATE_ASSEMBLY", 10_027),
    event(102, "ALTER_ASSEMBLY", 10_027),
    event(103, "DROP_ASSEMBLY", 10_027),
    event(131, "CREATE_USER", 10_031),
    event(132, "ALTER_USER", 10_031),
    event(133, "DROP_USER", 10_031),
    event(134, "CREATE_ROLE", 10_032),
    event(135, "ALTER_ROLE", 10_032),
    event(136, "DROP_ROLE", 10_032),
    event(137, "CREATE_APPLICATION_ROLE", 10_033),
    event(138, "ALTER_APPLICATION_ROLE", 10_033),
    event(139, "DROP_APPLICATION_ROLE", 10_033),
    event(141, "CREATE_SCHEMA", 10_034),
    event(142, "ALTER_SCHEMA", 10_034),
    event(143, "DROP_SCHEMA", 10_034),
    event(144, "CREATE_LOGIN", 10_006),
    event(145, "ALTER_LOGIN", 10_006),
    event(146, "DROP_LOGIN", 10_006),
    event(151, "CREATE_MESSAGE_TYPE", 10_042),
    event(152, "ALTER_MESSAGE_TYPE", 10_042),
    event(153, "DROP_MESSAGE_TYPE", 10_042),
    event(154, "CREATE_CONTRACT", 10_043),
    event(156, "DROP_CONTRACT", 10_043),
    event(157, "CREATE_QUEUE", 10_044),
    event(158, "ALTER_QUEUE", 10_044),
    event(159, "DROP_QUEUE", 10_044),
    event(161, "CREATE_SERVICE", 10_045),
    event(162, "ALTER_SERVICE", 10_045),
    event(163, "DROP_SERVICE", 10_045),
    event(164, "CREATE_ROUTE", 10_046),
    event(165, "ALTER_ROUTE", 10_046),
    event(166, "DROP_ROUTE", 10_046),
    event(167, "GRANT_SERVER", 10_007),
    event(168, "DENY_SERVER", 10_007),
    event(169, "REVOKE_SERVER", 10_007),
    event(170, "GRANT_DATABASE", 10_035),
    event(171, "DENY_DATABASE", 10_035),
    event(172, "REVOKE_DATABASE", 10_035),
    event(174, "CREATE_REMOTE_SERVICE_BINDING", 10_047),
    event(175, "ALTER_REMOTE_SERVICE_BINDING", 10_047),
    event(176, "DROP_REMOTE_SERVICE_BINDING", 10_047),
    event(177, "CREATE_XML_SCHEMA_COLLECTION", 10_048),
    event(178, "ALTER_XML_SCHEMA_COLLECTION", 10_048),
    event(179, "DROP_XML_SCHEMA_COLLECTION", 10_048),
    event(181, "CREATE_ENDPOINT", 10_003),
    event(182, "ALTER_ENDPOINT", 10_003),
    event(183, "DROP_ENDPOINT", 10_003),
    event(191, "CREATE_PARTITION_FUNCTION", 10_050),
    event(192, "ALTER_PARTITION_FUNCTION", 10_050),
    event(193, "DROP_PARTITION_FUNCTION", 10_050),
    event(194, "CREATE_PARTITION_SCHEME", 10_051),
    event(195, "ALTER_PARTITION_SCHEME", 10_051),
    event(196, "DROP_PARTITION_SCHEME", 10_051),
    event(197, "CREATE_CERTIFICATE", 10_030),
    event(198, "ALTER_CERTIFICATE", 10_030),
    event(199, "DROP_CERTIFICATE", 10_030),
    event(201, "CREATE_DATABASE", 10_004),
    event(202, "ALTER_DATABASE", 10_004),
    event(203, "DROP_DATABASE", 10_004),
    event(204, "ALTER_AUTHORIZATION_SERVER", 10_008),
    event(205, "ALTER_AUTHORIZATION_DATABASE", 10_036),
    event(206, "CREATE_XML_INDEX", 10_020),
    event(207, "ADD_ROLE_MEMBER", 10_032),
    event(208, "DROP_ROLE_MEMBER", 10_032),
    event(209, "ADD_SERVER_ROLE_MEMBER", 10_005),
    event(210, "DROP_SERVER_ROLE_MEMBER", 10_005),
    event(211, "ALTER_EXTENDED_PROPERTY", 10_053),
    event(212, "ALTER_FULLTEXT_CATALOG", 10_054),
    event(213, "ALTER_FULLTEXT_INDEX", 10_020),
    event(214, "ALTER_INSTANCE", 10_002),
    event(215, "ALTER_MESSAGE", 10_014),
    event(216, "ALTER_PLAN_GUIDE", 10_055),
    event(217, "ALTER_REMOTE_SERVER", 10_015),
    event(218, "BIND_DEFAULT", 10_052),
    event(219, "BIND_RULE", 10_056),
    event(220, "CREATE_DEFAULT", 10_052),
    event(221, "CREATE_EXTENDED_PROCEDURE", 10_011),
    event(222, "CREATE_EXTENDED_PROPERTY", 10_053),
    event(223, "CREATE_FULLTEXT_CATALOG", 10_054),
    event(224, "CREATE_FULLTEXT_INDEX", 10_020),
    event(225, "CREATE_LINKED_SERVER", 10_012),
    event(226, "CREATE_LINKED_SERVER_LOGIN", 10_013),
    event(227, "CREATE_MESSAGE", 10_014),
    event(228, "CREATE_PLAN_GUIDE", 10_055),
    event(229, "CREATE_RULE", 10_056),
    event(230, "CREATE_REMOTE_SERVER", 10_015),
    event(231, "DROP_DEFAULT", 10_052),
    event(232, "DROP_EXTENDED_PROCEDURE", 10_011),
    event(233, "DROP_EXTENDED_PROPERTY", 10_053),
    event(234, "DROP_FULLTEXT_CATALOG", 10_054),
    event(235, "DROP_FULLTEXT_INDEX", 10_020),
    event(236, "DROP_LINKED_SERVER_LOGIN", 10_013),
    event(237, "DROP_MESSAGE", 10_014),
    event(238, "DROP_PLAN_GUIDE", 10_055),
    event(239, "DROP_RULE", 10_056),
    event(240, "DROP_REMOTE_SERVER", 10_015),
    event(241, "RENAME", 10_016),
    event(242, "UNBIND_DEFAULT", 10_052),
    event(243, "UNBIND_RULE", 10_056),
    event(244, "CREATE_SYMMETRIC_KEY", 10_037),
    event(245, "ALTER_SYMMETRIC_KEY", 10_037),
    event(246, "DROP_SYMMETRIC_KEY", 10_037),
    event(247, "CREATE_ASYMMETRIC_KEY", 10_038),
    event(248, "ALTER_ASYMMETRIC_KEY", 10_038),
    event(249, "DROP_ASYMMETRIC_KEY", 10_038),
    event(251, "ALTER_SERVICE_MASTER_KEY", 10_010),
    event(252, "CREATE_MASTER_KEY", 10_040),
    event(253, "ALTER_MASTER_KEY", 10_040),
    event(254, "DROP_MASTER_KEY", 10_040),
    event(255, "ADD_SIGNATURE_SCHEMA_OBJECT", 10_039),
    event(256, "DROP_SIGNATURE_SCHEMA_OBJECT", 10_039),
    event(257, "ADD_SIGNATURE", 10_039),
    event(258, "DROP_SIGNATURE", 10_039),
    event(259, "CREATE_CREDENTIAL", 10_009),
    event(260, "ALTER_CREDENTIAL", 10_009),
    event(261, "DROP_CREDENTIAL", 10_009),
    event(262, "DROP_LINKED_SERVER", 10_012),
    event(263, "ALTER_LINKED_SERVER", 10_012),
    event(264, "CREATE_EVENT_SESSION", 10_057),
    event(265, "ALTER_EVENT_SESSION", 10_057),
    event(266, "DROP_EVENT_SESSION", 10_057),
    event(267, "CREATE_RESOURCE_POOL", 10_059),
    event(268, "ALTER_RESOURCE_POOL", 10_059),
    event(269, "DROP_RESOURCE_POOL", 10_059),
    event(270, "CREATE_WORKLOAD_GROUP", 10_060),
    event(271, "ALTER_WORKLOAD_GROUP", 10_060),
    event(272, "DROP_WORKLOAD_GROUP", 10_060),
    event(273, "ALTER_RESOURCE_GOVERNOR_CONFIG", 10_058),
    event(274, "CREATE_SPATIAL_INDEX", 10_020),
    event(275, "CREATE_CRYPTOGRAPHIC_PROVIDER", 10_061),
    event(276, "ALTER_CRYPTOGRAPHIC_PROVIDER", 10_061),
    event(277, "DROP_CRYPTOGRAPHIC_PROVIDER", 10_061),
    event(278, "CREATE_DATABASE_ENCRYPTION_KEY", 10_062),
    event(279, "ALTER_DATABASE_ENCRYPTION_KEY", 10_062),
    event(280, "DROP_DATABASE_ENCRYPTION_KEY", 10_062),
    event(281, "CREATE_BROKER_PRIORITY", 10_063),
    event(282, "ALTER_BROKER_PRIORITY", 10_063),
    event(283, "DROP_BROKER_PRIORITY", 10_063),
    event(284, "CREATE_SERVER_AUDIT", 10_064),
    event(285, "ALTER_SERVER_AUDIT", 10_064),
    event(286, "DROP_SERVER_AUDIT", 10_064),
    event(287, "CREATE_SERVER_AUDIT_SPECIFICATION", 10_065),
    event(288, "ALTER_SERVER_AUDIT_SPECIFICATION", 10_065),
    event(289, "DROP_SERVER_AUDIT_SPECIFICATION", 10_065),
    event(290, "CREATE_DATABASE_AUDIT_SPECIFICATION", 10_066),
    event(291, "ALTER_DATABASE_AUDIT_SPECIFICATION", 10_066),
    event(292, "DROP_DATABASE_AUDIT_SPECIFICATION", 10_066),
    event(293, "CREATE_FULLTEXT_STOPLIST", 10_067),
    event(294, "ALTER_FULLTEXT_STOPLIST", 10_067),
    event(295, "DROP_FULLTEXT_STOPLIST", 10_067),
    event(296, "ALTER_SERVER_CONFIGURATION", 0),
    event(297, "CREATE_SEARCH_PROPERTY_LIST", 10_069),
    event(298, "ALTER_SEARCH_PROPERTY_LIST", 10_069),
    event(299, "DROP_SEARCH_PROPERTY_LIST", 10_069),
    event(300, "CREATE_SERVER_ROLE", 10_005),
    event(301, "ALTER_SERVER_ROLE", 10_005),
    event(302, "DROP_SERVER_ROLE", 10_005),
    event(303, "CREATE_SEQUENCE", 10_070),
    event(304, "ALTER_SEQUENCE", 10_070),
    event(305, "DROP_SEQUENCE", 10_070),
    event(306, "CREATE_AVAILABILITY_GROUP", 10_071),
    event(307, "ALTER_AVAILABILITY_GROUP", 10_071),
    event(308, "DROP_AVAILABILITY_GROUP", 10_071),
    event(309, "CREATE_AUDIT", 10_072),
    event(310, "DROP_AUDIT", 10_072),
    event(311, "ALTER_AUDIT", 10_072),
    event(312, "CREATE_SECURITY_POLICY", 10_073),
    event(313, "ALTER_SECURITY_POLICY", 10_073),
    event(314, "DROP_SECURITY_POLICY", 10_073),
    event(315, "CREATE_COLUMN_MASTER_KEY", 10_074),
    event(316, "DROP_COLUMN_MASTER_KEY", 10_074),
    event(317, "CREATE_COLUMN_ENCRYPTION_KEY", 10_075),
    event(318, "ALTER_COLUMN_ENCRYPTION_KEY", 10_075),
    event(319, "DROP_COLUMN_ENCRYPTION_KEY", 10_075),
    event(320, "ALTER_DATABASE_SCOPED_CONFIGURATION", 10_016),
    event(321, "CREATE_EXTERNAL_RESOURCE_POOL", 10_076),
    event(322, "ALTER_EXTERNAL_RESOURCE_POOL", 10_076),
    event(323, "DROP_EXTERNAL_RESOURCE_POOL", 10_076),
    event(324, "CREATE_EXTERNAL_LIBRARY", 10_077),
    event(325, "ALTER_EXTERNAL_LIBRARY", 10_077),
    event(326, "DROP_EXTERNAL_LIBRARY", 10_077),
    event(327, "ADD_SENSITIVITY_CLASSIFICATION", 10_078),
    event(328, "DROP_SENSITIVITY_CLASSIFICATION", 10_078),
    event(329, "CREATE_EXTERNAL_LANGUAGE", 10_079),
    event(330, "ALTER_EXTERNAL_LANGUAGE", 10_079),
    event(331, "DROP_EXTERNAL_LANGUAGE", 10_079),
    event(10_001, "DDL_EVENTS", 0),
    event(10_002, "DDL_SERVER_LEVEL_EVENTS", 10_001),
    event(10_003, "DDL_ENDPOINT_EVENTS", 10_002),
    event(10_004, "DDL_DATABASE_EVENTS", 10_002),
    event(10_005, "DDL_SERVER_SECURITY_EVENTS", 10_002),
    event(10_006, "DDL_LOGIN_EVENTS", 10_005),
    event(10_007, "DDL_GDR_SERVER_EVENTS", 10_005),
    event(10_008, "DDL_AUTHORIZATION_SERVER_EVENTS", 10_005),
    event(10_009, "DDL_CREDENTIAL_EVENTS", 10_005),
    event(10_010, "DDL_SERVICE_MASTER_KEY_EVENTS", 10_005),
    event(10_011, "DDL_EXTENDED_PROCEDURE_EVENTS", 10_002),
    event(10_012, "DDL_LINKED_SERVER_EVENTS", 10_002),
    event(10_013, "DDL_LINKED_SERVER_LOGIN_EVENTS", 10_012),
    event(10_014, "DDL_MESSAGE_EVENTS", 10_002),
    event(10_015, "DDL_REMOTE_SERVER_EVENTS", 10_002),
    event(10_016, "DDL_DATABASE_LEVEL_EVENTS", 10_001),
    event(10_017, "DDL_TABLE_VIEW_EVENTS", 10_016),
    event(10_018, "DDL_TABLE_EVENTS", 10_017),
    event(10_019, "DDL_VIEW_EVENTS", 10_017),
    event(10_020, "DDL_INDEX_EVENTS", 10_017),
    event(10_021, "DDL_STATISTICS_EVENTS", 10_017),
    event(10_022, "DDL_SYNONYM_EVENTS", 10_016),
    event(10_023, "DDL_FUNCTION_EVENTS", 10_016),
    event(10_024, "DDL_PROCEDURE_EVENTS", 10_016),
    event(10_025, "DDL_TRIGGER_EVENTS", 10_016),
    event(10_026, "DDL_EVENT_NOTIFICATION_EVENTS", 10_016),
    event(10_027, "DDL_ASSEMBLY_EVENTS", 10_016),
    event(10_028, "DDL_TYPE_EVENTS", 10_016),
    event(10_029, "DDL_DATABASE_SECURITY_EVENTS", 10_016),
    event(10_030, "DDL_CERTIFICATE_EVENTS", 10_029),
    event(10_031, "DDL_USER_EVENTS", 10_029),
    event(10_032, "DDL_ROLE_EVENTS", 10_029),
    event(10_033, "DDL_APPLICATION_ROLE_EVENTS", 10_029),
    event(10_034, "DDL_SCHEMA_EVENTS", 10_029),
    event(10_035, "DDL_GDR_DATABASE_EVENTS", 10_029),
    event(10_036, "DDL_AUTHORIZATION_DATABASE_EVENTS", 10_029),
    event(10_037, "DDL_SYMMETRIC_KEY_EVENTS", 10_029),
    event(10_038, "DDL_ASYMMETRIC_KEY_EVENTS", 10_029),
    event(10_039, "DDL_CRYPTO_SIGNATURE_EVENTS", 10_029),
    event(10_040, "DDL_MASTER_KEY_EVENTS", 10_029),
    event(10_041, "DDL_SSB_EVENTS", 10_016),
    event(10_042, "DDL_MESSAGE_TYPE_EVENTS", 10_041),
    event(10_043, "DDL_CONTRACT_EVENTS", 10_041),
    event(10_044, "DDL_QUEUE_EVENTS", 10_041),
    event(10_045, "DDL_SERVICE_EVENTS", 10_041),
    event(10_046, "DDL_ROUTE_EVENTS", 10_041),
    event(10_047, "DDL_REMOTE_SERVICE_BINDING_EVENTS", 10_041),
    event(10_048, "DDL_XML_SCHEMA_COLLECTION_EVENTS", 10_016),
    event(10_049, "DDL_PARTITION_EVENTS", 10_016),
    event(10_050, "DDL_PARTITION_FUNCTION_EVENTS", 10_049),
    event(10_051, "DDL_PARTITION_SCHEME_EVENTS", 10_049),
    event(10_052, "DDL_DEFAULT_EVENTS", 10_016),
    event(10_053, "DDL_EXTENDED_PROPERTY_EVENTS", 10_016),
    event(10_054, "DDL_FULLTEXT_CATALOG_EVENTS", 10_016),
    event(10_055, "DDL_PLAN_GUIDE_EVENTS", 10_016),
    event(10_056, "DDL_RULE_EVENTS", 10_016),
    event(10_057, "DDL_EVENT_SESSION_EVENTS", 10_002),
    event(10_058, "DDL_RESOURCE_GOVERNOR_EVENTS", 10_002),
    event(10_059, "DDL_RESOURCE_POOL", 10_058),
    event(10_060, "DDL_WORKLOAD_GROUP", 10_058),
    event(10_061, "DDL_CRYPTOGRAPHIC_PROVIDER_EVENTS", 10_005),
    event(10_062, "DDL_DATABASE_ENCRYPTION_KEY_EVENTS", 10_029),
    event(10_063, "DDL_BROKER_PRIORITY_EVENTS", 10_041),
    event(10_064, "DDL_SERVER_AUDIT_EVENTS", 10_005),
    event(10_065, "DDL_SERVER_AUDIT_SPECIFICATION_EVENTS", 10_005),
    event(10_066, "DDL_DATABASE_AUDIT_SPECIFICATION_EVENTS", 10_029),
    event(10_067, "DDL_FULLTEXT_STOPLIST_EVENTS", 10_016),
    event(10_069, "DDL_SEARCH_PROPERTY_LIST_EVENTS", 10_016),
    event(10_070, "DDL_SEQUENCE_EVENTS", 10_016),
    event(10_071, "DDL_AVAILABILITY_GROUP_EVENTS", 10_002),
    event(10_072, "DDL_DATABASE_AUDIT_EVENTS", 10_029),
    event(10_073, "DDL_SECURITY_POLICY_EVENTS", 10_016),
    event(10_074, "DDL_COLUMN_MASTER_KEY_EVENTS", 10_016),
    event(10_075, "DDL_COLUMN_ENCRYPTION_KEY_EVENTS", 10_016),
    event(10_076, "DDL_EXTERNAL_RESOURCE_POOL_EVENTS", 10_058),
    event(10_077, "DDL_LIBRARY_EVENTS", 10_016),
    event(10_078, "DDL_SENSITIVITY_EVENTS", 10_016),
    event(10_079, "DDL_EXTERNAL_LANGUAGE_EVENTS", 10_016),
];

const fn event(number: u16, name: &'static str, parent: u16) -> EventType {
    EventType { number, name, parent }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every parent is a group of the table, and every chain of parents ends.
    #[test]
    fn the_tree_is_whole() {
        for event in EVENT_TYPES {
            assert!(
                event.parent == 0 || EventType::numbered(event.parent).is_some_and(EventType::is_group),
                "{}",
                event.name
            );
            assert_eq!(event.name.starts_with("DDL_"), event.is_group(), "{}", event.name);
            assert!(event.parent == 0 || event.is_within(EVERYTHING), "{}", event.name);
            assert_eq!(EventType::named(event.name), Some(event));
        }
        assert!(EVENT_TYPES.is_sorted_by_key(|event| event.number));
    }
}
