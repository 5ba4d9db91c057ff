//! Return values of a call besides its results.

use std::sync::Arc;

use engine::error::Error;
use engine::types::{SqlType, Value};
use tds::{RpcParameter, Value as WireValue, XmlCollection};
use tsql::sink::{OutputParameter, XmlCollectionName};

use super::{columns, values};

/// The status and the output parameters of a call.
#[derive(Debug, Default)]
pub struct Returned {
    /// The return status; of sp_executesql 0, or the number of the last error.
    pub status: i32,
    outputs: Vec<Output>,
}

/// A new value of an output parameter.
#[derive(Debug)]
struct Output {
    name: String,
    sql_type: SqlType,
    value: Value,
    xml_collection: Option<Arc<XmlCollectionName>>,
}

/// An output parameter as its argument gets it.
#[derive(Debug)]
pub struct ReturnedValue {
    /// The place of the argument.
    pub place: usize,
    /// In the type that the client has sent. A value that cannot be converted is its error: a client that has asked for a value must not
    /// take it for NULL.
    pub value: Result<WireValue, Error>,
    /// The schema collection of typed xml.
    pub xml_collection: Option<XmlCollection>,
}

impl Returned {
    /// Adds an output parameter, by the name it is declared with.
    pub fn add(&mut self, output: OutputParameter<'_>) {
        self.outputs.push(Output {
            name: output.name.to_owned(),
            sql_type: output.sql_type,
            value: output.value.clone(),
            xml_collection: output.xml_collection.cloned(),
        });
    }

    /// The output parameters for their arguments. Values of which no argument wants to hear are left out.
    pub fn for_arguments(&self, arguments: &[RpcParameter]) -> Vec<ReturnedValue> {
        let mut taken: Vec<ReturnedValue> = Vec::new();
        for output in &self.outputs {
            let place = place_of(&output.name, arguments, &taken);
            if let Some((place, sent)) = place.and_then(|place| Some((place, arguments.get(place)?))) {
                taken.push(ReturnedValue {
                    place,
                    value: values::returned(&output.value, output.sql_type, sent),
                    xml_collection: output.xml_collection.as_deref().map(columns::wire_collection),
                });
            }
        }
        taken
    }
}

/// The argument an output parameter belongs to: by its name, or the next output argument without one.
fn place_of(name: &str, arguments: &[RpcParameter], taken: &[ReturnedValue]) -> Option<usize> {
    let free = || {
        let mut numbered = arguments.iter().enumerate();
        std::iter::from_fn(move || numbered.next())
            .filter(|(place, sent)| sent.output && !taken.iter().any(|other| other.place == *place))
    };
    free()
        .find(|(_, sent)| !sent.name.is_empty() && sent.name.eq_ignore_ascii_case(name))
        .or_else(|| free().find(|(_, sent)| sent.name.is_empty()))
        .map(|(place, _)| place)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tds::ColumnType;

    #[test]
    fn output_parameters_find_their_arguments() {
        let argument = |name: &str, output| RpcParameter {
            name: name.to_owned(),
            output,
            default: false,
            column_type: ColumnType::Int,
            value: WireValue::Null,
            table: None,
        };
        let arguments = [argument("@a", false), argument("", true), argument("@B", true)];
        let mut returned = Returned::default();
        for (name, value) in [("@b", 2), ("@first", 1), ("@surplus", 3)] {
            returned.add(OutputParameter::new(name, SqlType::Int, &Value::Int(value)));
        }
        let found = returned.for_arguments(&arguments).into_iter();
        let found: Vec<_> = found.map(|one| (one.place, one.value.unwrap())).collect();
        assert_eq!(found, [(2, WireValue::Int(2)), (1, WireValue::Int(1))]);
    }
}
