//! The relation between the rows of an operator and those of its inputs. Rules that walk plans without knowing each operator use it; they
//! leave unknown operators unchanged.

use std::convert::Infallible;

use super::{
    AggregateNode, ArrangeNode, DerivedNode, DistinctNode, FilterNode, FunctionNode, JoinMethod, JoinNode, ModuleNode,
    Node, Part, PartMut, ProjectNode, RecursiveNode, RoundNode, SliceNode, SortNode, TopNode, ValuesNode, VariableNode,
    ViewNode, WindowNode,
};

/// What the rows of an operator are.
#[derive(Clone, Copy, Debug)]
pub enum Shape<'n> {
    /// Rows of its own, in places of its own.
    Source(OwnPlaces),
    /// Those of all operators directly below, put together: each writes to places of its own.
    Joined,
    /// Those of the input with all their columns: some of them, or all in another order.
    Passed(&'n Node),
    /// Those of the input, each with columns behind.
    Extended(Below<'n>),
    /// Computed from those of the input: a place says something else above than below.
    Computed(Below<'n>),
    /// Those of several queries that have the same columns.
    United,
}

/// The input of an operator that makes other rows of it.
#[derive(Clone, Copy, Debug)]
pub struct Below<'n> {
    pub input: &'n Node,
    /// Width of its rows.
    pub width: usize,
}

/// The places that a source writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPlaces {
    /// Where its columns begin.
    pub offset: usize,
    /// How many they are.
    pub width: usize,
    /// Where it puts the locator of a row to be changed.
    pub locator: Option<usize>,
    /// Where it puts the place of the row in the files.
    pub row_place: Option<usize>,
}

impl OwnPlaces {
    fn of(offset: usize, width: usize) -> OwnPlaces {
        OwnPlaces {
            offset,
            width,
            locator: None,
            row_place: None,
        }
    }
}

impl Node {
    /// What its rows are to those below.
    pub fn shape(&self) -> Shape<'_> {
        match self {
            Node::Single | Node::Empty => Shape::Source(OwnPlaces::of(0, 0)),
            Node::Scan(scan) => Shape::Source(OwnPlaces {
                locator: scan.locator,
                row_place: scan.row_place,
                ..OwnPlaces::of(scan.offset, scan.table.table.definition().columns.len())
            }),
            Node::Variable(VariableNode {
                offset, width, locator, ..
            }) => Shape::Source(OwnPlaces {
                locator: *locator,
                ..OwnPlaces::of(*offset, *width)
            }),
            Node::View(ViewNode { view, offset, .. }) => Shape::Source(OwnPlaces::of(*offset, view.columns.len())),
            Node::Module(ModuleNode { call, offset, .. }) => Shape::Source(OwnPlaces::of(*offset, call.columns())),
            Node::Function(FunctionNode { width, offset, .. }) => Shape::Source(OwnPlaces::of(*offset, *width)),
            Node::Values(ValuesNode { rows, offset }) => {
                Shape::Source(OwnPlaces::of(*offset, rows.first().map_or(0, Vec::len)))
            }
            Node::Derived(DerivedNode { plan, offset, .. }) => {
                Shape::Source(OwnPlaces::of(*offset, plan.columns.len()))
            }
            Node::Recursive(RecursiveNode { width, offset, .. }) | Node::Round(RoundNode { width, offset, .. }) => {
                Shape::Source(OwnPlaces::of(*offset, *width))
            }
            Node::From(_) | Node::Outer(_) | Node::Join(_) => Shape::Joined,
            Node::Filter(FilterNode { input, .. })
            | Node::Arrange(ArrangeNode { input, .. })
            | Node::Distinct(DistinctNode { input, .. })
            | Node::Sort(SortNode { input, .. })
            | Node::Top(TopNode { input, .. })
            | Node::Slice(SliceNode { input, .. }) => Shape::Passed(input),
            Node::Window(WindowNode { input, input_width, .. }) => Shape::Extended(Below {
                input,
                width: *input_width,
            }),
            Node::Project(ProjectNode { input, input_width, .. })
            | Node::Aggregate(AggregateNode { input, input_width, .. }) => Shape::Computed(Below {
                input,
                width: *input_width,
            }),
            Node::Serialize(serialize) => Shape::Computed(Below {
                input: &serialize.input,
                width: serialize.input_width,
            }),
            Node::Append(_) | Node::SetOperation(_) => Shape::United,
        }
    }

    /// Whether the operators below write to places of the same row as it does.
    fn shares_row(&self) -> bool {
        match self.shape() {
            Shape::Joined | Shape::Passed(_) => true,
            Shape::Source(_) | Shape::Extended(_) | Shape::Computed(_) | Shape::United => false,
        }
    }

    /// Calls `visit` for the operators directly below that write to places of the same row.
    pub fn for_each_in_row<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        if !self.shares_row() {
            return;
        }
        let Ok(()) = self.parts::<Infallible>(&mut |part| {
            if let Part::Node(below) = part {
                visit(below);
            }
            Ok(())
        });
    }

    /// As [`Node::for_each_in_row`], to change them.
    pub fn for_each_in_row_mut(&mut self, change: &mut dyn FnMut(&mut Node)) {
        if !self.shares_row() {
            return;
        }
        let Ok(()) = self.parts_mut::<Infallible>(&mut |part| {
            if let PartMut::Node(below) = part {
                change(below);
            }
            Ok(())
        });
    }

    /// Has a source write so many places further behind, and a FROM be wider by as many; what is below it stays.
    pub fn move_places(&mut self, by: usize) {
        let (offset, locator) = match self {
            Node::Scan(scan) => {
                scan.row_place.iter_mut().for_each(|place| *place += by);
                (&mut scan.offset, Some(&mut scan.locator))
            }
            Node::Variable(VariableNode { offset, locator, .. }) => (offset, Some(locator)),
            Node::View(ViewNode { offset, .. })
            | Node::Module(ModuleNode { offset, .. })
            | Node::Function(FunctionNode { offset, .. })
            | Node::Values(ValuesNode { offset, .. })
            | Node::Derived(DerivedNode { offset, .. })
            | Node::Recursive(RecursiveNode { offset, .. })
            | Node::Round(RoundNode { offset, .. }) => (offset, None),
            Node::From(from) => (&mut from.width, None),
            Node::Single | Node::Empty | Node::Outer(_) | Node::Join(_) | Node::Arrange(_) | Node::Filter(_) => return,
            Node::Aggregate(_) | Node::Window(_) | Node::Project(_) | Node::Distinct(_) | Node::Sort(_) => return,
            Node::Top(_) | Node::Slice(_) | Node::Append(_) | Node::SetOperation(_) | Node::Serialize(_) => return,
        };
        *offset += by;
        if let Some(Some(place)) = locator {
            *place += by;
        }
    }

    /// Whether it gives one row at most, without columns: what is tested once.
    pub fn is_single(&self) -> bool {
        matches!(self.below_filters(), Node::Single)
    }

    /// The operator itself, or what is below where it filters.
    pub fn below_filters(&self) -> &Node {
        let mut node = self;
        while let Node::Filter(filter) = node {
            node = &filter.input;
        }
        node
    }

    /// The scan that it is, or that it filters.
    pub fn filtered_scan(&self) -> Option<&super::ScanNode> {
        let Node::Scan(scan) = self.below_filters() else {
            return None;
        };
        Some(scan)
    }
}

/// Makes the way down to the input whose order rows come out in, borrowed or, with `mut`, to be changed.
macro_rules! driving {
    ($(#[$doc:meta])* $driving:ident, $of_join:ident, $($m:tt)?) => {
        impl Node {
            $(#[$doc])*
            pub fn $driving(& $($m)? self) -> Option<& $($m)? Node> {
                match self {
                    Node::Filter(FilterNode { input, .. })
                    | Node::Project(ProjectNode { input, .. })
                    | Node::Top(TopNode { input, .. })
                    | Node::Slice(SliceNode { input, .. })
                    | Node::Aggregate(AggregateNode { input, is_stream: true, .. })
                    | Node::Distinct(DistinctNode { input, is_stream: true, .. })
                    | Node::Window(WindowNode { input, arrival: Some(_), .. }) => Some(input),
                    Node::Join(join) => join.$of_join(),
                    Node::Single | Node::Empty | Node::Scan(_) | Node::View(_) | Node::Module(_) | Node::Values(_) => None,
                    Node::Variable(_) | Node::Derived(_) | Node::Recursive(_) | Node::Round(_) | Node::Function(_) => None,
                    Node::From(_) | Node::Outer(_) | Node::Append(_) | Node::SetOperation(_) => None,
                    Node::Arrange(_) | Node::Sort(_) | Node::Serialize(_) => None,
                    Node::Aggregate(AggregateNode { is_stream: false, .. })
                    | Node::Distinct(DistinctNode { is_stream: false, .. })
                    | Node::Window(WindowNode { arrival: None, .. }) => None,
                }
            }
        }

        impl JoinNode {
            /// Of nested loops the side whose order pairs come out in.
            fn $of_join(& $($m)? self) -> Option<& $($m)? Node> {
                match self.method {
                    JoinMethod::Loop if self.left.is_single() => Some(& $($m)? self.right),
                    JoinMethod::Loop => Some(& $($m)? self.left),
                    JoinMethod::Hash { .. } | JoinMethod::Merge { .. } => None,
                }
            }
        }
    };
}

driving!(
    /// The input in whose order rows come out, as far as the operator shows it. None where they come in an order of its own, or in none.
    driving, driving_side,
);
driving!(
    /// As [`Node::driving`], to change it.
    driving_mut, driving_side_mut, mut
);
