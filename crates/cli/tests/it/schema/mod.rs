//! Holds a JSON document to `docs/results.schema.json`. Of JSON Schema it knows what that file uses: `$ref` into `$defs`, `const`, `type`,
//! `required`, `properties`, `additionalProperties`, `items`; any other word in a schema is an error, lest it be passed over.

use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../../docs/results.schema.json");
/// Words that ask for nothing.
const SILENT: [&str; 5] = ["$schema", "$id", "$defs", "title", "description"];

/// Every place where the document is not as the schema says.
pub fn faults(document: &Value) -> Vec<String> {
    let root: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let mut faults = Vec::new();
    check(&root, &root, document, "results", &mut faults);
    faults
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, faults: &mut Vec<String>) {
    let Some(words) = schema.as_object() else {
        return faults.push(format!("{place}: the schema has no object here"));
    };
    for (word, asked) in words.iter().filter(|(word, _)| !SILENT.contains(&word.as_str())) {
        match word.as_str() {
            "$ref" => match asked
                .as_str()
                .and_then(|path| root.pointer(path.trim_start_matches('#')))
            {
                Some(definition) => check(root, definition, value, place, faults),
                None => faults.push(format!("{place}: {asked} is not in the schema")),
            },
            "const" if asked != value => faults.push(format!("{place}: {value} is not {asked}")),
            "type" if !is_of(asked, value) => faults.push(format!("{place}: {value} is no {asked}")),
            "required" => {
                let missing = asked.as_array().into_iter().flatten().filter_map(Value::as_str);
                let missing = missing.filter(|key| value.get(key).is_none());
                faults.extend(missing.map(|key| format!("{place} has no {key}")));
            }
            "properties" | "additionalProperties" | "items" | "const" | "type" => {}
            other => faults.push(format!("{place}: the schema's word {other} is not known")),
        }
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let place = format!("{place}.{key}");
        match (
            schema.pointer(&format!("/properties/{key}")),
            schema.get("additionalProperties"),
        ) {
            (Some(known), _) => check(root, known, inner, &place, faults),
            (None, Some(Value::Bool(false))) => faults.push(format!("{place} is not in the schema")),
            (None, Some(others)) => check(root, others, inner, &place, faults),
            (None, None) => {}
        }
    }
    if let (Some(items), Some(list)) = (schema.get("items"), value.as_array()) {
        for (index, inner) in list.iter().enumerate() {
            check(root, items, inner, &format!("{place}[{index}]"), faults);
        }
    }
}

fn is_of(asked: &Value, value: &Value) -> bool {
    match asked.as_str() {
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("null") => value.is_null(),
        Some(_) => false,
        None => asked.as_array().into_iter().flatten().any(|kind| is_of(kind, value)),
    }
}
