//! FOR JSON and FOR XML: all rows of a query as one text, and its structure.

use engine::types::SqlType;

use super::Node;

/// The rows of a query as one text.
#[derive(Clone, Debug)]
pub struct SerializeNode {
    pub input: Box<Node>,
    pub input_width: usize,
    pub form: SerializedForm,
    /// Whether the text comes in pieces, each a row: it is sent to a client. Otherwise it is one value.
    pub is_in_pieces: bool,
}

#[derive(Clone, Debug)]
pub enum SerializedForm {
    Json(JsonForm),
    Xml(XmlForm),
    Explicit(ExplicitForm),
}

impl SerializedForm {
    /// Whether the text is a value of type xml.
    pub fn is_xml(&self) -> bool {
        match self {
            SerializedForm::Json(_) => false,
            SerializedForm::Xml(form) => form.is_typed,
            SerializedForm::Explicit(form) => form.is_typed,
        }
    }
}

/// FOR XML EXPLICIT: each row is an element, whose tag and parent its first two columns say.
#[derive(Clone, Debug)]
pub struct ExplicitForm {
    pub root: Option<String>,
    /// Whether the text is a value of type xml.
    pub is_typed: bool,
    /// Whether an element may be nil, so that the outermost declare the prefix.
    pub has_nil: bool,
    pub tags: Vec<ExplicitTag>,
}

/// The element of a tag.
#[derive(Clone, Debug)]
pub struct ExplicitTag {
    pub number: i64,
    pub name: String,
    pub items: Vec<ExplicitItem>,
}

#[derive(Clone, Debug)]
pub enum ExplicitItem {
    Attribute(String, WrittenColumn),
    /// An element; with the flag, nil where the column is NULL.
    Element(String, WrittenColumn, bool),
    Text(WrittenColumn),
    CharacterData(WrittenColumn),
}

/// A column of the rows that are written.
#[derive(Clone, Copy, Debug)]
pub struct WrittenColumn {
    /// Its place in the row.
    pub place: usize,
    pub sql_type: SqlType,
    /// Whether its text is JSON, or xml, as it is.
    pub is_fragment: bool,
}

#[derive(Clone, Debug)]
pub struct JsonForm {
    /// The member around everything.
    pub root: Option<String>,
    /// Whether members that are NULL are written.
    pub has_nulls: bool,
    /// Whether the objects are in an array.
    pub is_array: bool,
    /// An object for each, each within the one before: tables of AUTO. At least one.
    pub levels: Vec<JsonLevel>,
}

#[derive(Clone, Debug, Default)]
pub struct JsonLevel {
    /// The member of the object around whose array the objects are in.
    pub name: String,
    pub members: Vec<JsonMember>,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub struct JsonMember {
    pub name: String,
    pub content: JsonContent,
}

#[derive(Clone, Debug)]
pub enum JsonContent {
    Column(WrittenColumn),
    Object(Vec<JsonMember>),
}

#[derive(Clone, Debug)]
pub struct XmlForm {
    pub root: Option<String>,
    /// Whether elements that are NULL are written, as nil.
    pub has_nil: bool,
    /// Whether the text is a value of type xml.
    pub is_typed: bool,
    /// Declarations of the first elements: prefix and address.
    pub namespaces: Vec<(String, String)>,
    /// An element for each, each within the one before: tables of AUTO. At least one.
    pub levels: Vec<XmlLevel>,
}

#[derive(Clone, Debug, Default)]
pub struct XmlLevel {
    /// None: there is no element around the items.
    pub element: Option<String>,
    pub items: Vec<XmlItem>,
}

#[derive(Clone, Debug)]
pub enum XmlItem {
    Attribute(String, WrittenColumn),
    Element(String, Vec<XmlItem>),
    Text(WrittenColumn),
    /// An item of a list: a blank stands between one and the next.
    Data(WrittenColumn),
    Comment(WrittenColumn),
    Instruction(String, WrittenColumn),
}
