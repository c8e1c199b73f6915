//! Words → tree, by precedence climbing.

use std::ops::Range;

use super::error::{FormulaError, Problem};
use super::function::{Binary, Form, Function, Operation, Unary};
use super::lexer::{Token, tokens};
use super::tree::{Formula, Node, NodeKind};

/// How deep parentheses, signs and powers may stand within each other; a bound of the parser's stack.
const DEPTH: usize = 64;

/// Parses a whole formula.
pub(super) fn parse(text: &str) -> Result<Formula, FormulaError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0, nodes: Vec::new() };
    if *parser.peek() == Token::End {
        return Err(Problem::Empty.at(0..text.len()));
    }
    parser.expression(0)?;
    match parser.peek() {
        Token::End => Ok(Formula { nodes: parser.nodes }),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// An index into the parser's nodes.
type NodeId = usize;

struct Parser {
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    depth: usize,
    nodes: Vec<Node>,
}

/// A binary operator with its strength; Python's order, stronger binds tighter.
fn infix(token: &Token) -> Option<(Binary, u8)> {
    let word = match token {
        Token::Symbol(symbol) => symbol,
        Token::Word(word) => word.as_str(),
        _ => return None,
    };
    Some(match word {
        "or" | "||" => (Binary::Or, 1),
        "and" | "&&" => (Binary::And, 2),
        "<" => (Binary::Less, COMPARISON),
        "<=" => (Binary::LessOrEqual, COMPARISON),
        ">" => (Binary::Greater, COMPARISON),
        ">=" => (Binary::GreaterOrEqual, COMPARISON),
        "==" => (Binary::Equal, COMPARISON),
        "!=" => (Binary::NotEqual, COMPARISON),
        "+" => (Binary::Add, 5),
        "-" => (Binary::Subtract, 5),
        "*" => (Binary::Multiply, 6),
        "/" => (Binary::Divide, 6),
        "%" => (Binary::Remainder, 6),
        "**" => (Binary::Power, POWER),
        _ => return None,
    })
}

/// `not` stands between `and` and comparisons.
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
/// Signs bind tighter than products and looser than powers: `-a ** 2` is `-(a ** 2)`.
const SIGN: u8 = 7;
const POWER: u8 = 8;

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn next(&mut self) -> (Token, Range<usize>) {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Takes the symbol if it comes next.
    fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(next) if *next == symbol);
        if found {
            self.next();
        }
        found
    }

    fn unexpected(&self, expected: &'static str) -> FormulaError {
        let (token, span) = &self.tokens[self.at];
        Problem::Unexpected { expected, found: token.describe() }.at(span.clone())
    }

    /// An expression whose operators all bind at least as tight as `least`.
    fn expression(&mut self, least: u8) -> Result<NodeId, FormulaError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Problem::TooDeep { limit: DEPTH }.at(self.tokens[self.at].1.clone()));
        }
        let mut left = self.operand()?;
        let mut is_compared = false;
        while let Some((binary, strength)) = infix(self.peek()).filter(|(_, strength)| *strength >= least) {
            let (_, operator) = self.next();
            if is_compared && strength == COMPARISON {
                return Err(Problem::Chained.at(operator));
            }
            // A power is right-associative, everything else left-associative.
            let right = self.expression(if strength == POWER { SIGN } else { strength + 1 })?;
            left = self.apply(Operation::Binary(binary), vec![left, right])?;
            is_compared = strength == COMPARISON;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// An expression up to its first operator: signs, a name, a number, a call, parentheses.
    fn operand(&mut self) -> Result<NodeId, FormulaError> {
        let (token, span) = self.tokens[self.at].clone();
        match token {
            Token::Symbol("-") => self.prefixed(Unary::Negate, SIGN),
            Token::Symbol("+") => {
                self.next();
                self.expression(SIGN)
            }
            Token::Symbol("!") => self.prefixed(Unary::Not, SIGN),
            Token::Word(word) if word == "not" => self.prefixed(Unary::Not, NOT),
            Token::Symbol("(") => self.parenthesised(),
            Token::Number(value) => Ok(self.leaf(NodeKind::Number(value))),
            Token::Quoted(name) => Ok(self.leaf(NodeKind::Name { name, is_quoted: true })),
            Token::Word(name) if matches!(self.tokens[self.at + 1].0, Token::Symbol("(")) => {
                self.call(&name, span)
            }
            Token::Word(name) if name != "and" && name != "or" => {
                Ok(self.leaf(NodeKind::Name { name, is_quoted: false }))
            }
            _ => Err(self.unexpected("a number, a band or `(`")),
        }
    }

    fn leaf(&mut self, kind: NodeKind) -> NodeId {
        let (_, span) = self.next();
        self.push(kind, span)
    }

    fn prefixed(&mut self, unary: Unary, strength: u8) -> Result<NodeId, FormulaError> {
        let (_, span) = self.next();
        let operand = self.expression(strength)?;
        let node = self.apply(Operation::Unary(unary), vec![operand])?;
        self.nodes[node].span.start = span.start;
        Ok(node)
    }

    fn parenthesised(&mut self) -> Result<NodeId, FormulaError> {
        let (_, open) = self.next();
        let node = self.expression(0)?;
        self.close(&open)?;
        // The place of the whole, so that messages mark the parentheses with what they hold.
        self.nodes[node].span = open.start..self.tokens[self.at - 1].1.end;
        Ok(node)
    }

    fn close(&mut self, open: &Range<usize>) -> Result<(), FormulaError> {
        if self.take(")") {
            return Ok(());
        }
        match self.peek() {
            Token::End => Err(Problem::OpenParenthesis.at(open.clone())),
            _ => Err(self.unexpected("an operator or `)`")),
        }
    }

    fn call(&mut self, name: &str, span: Range<usize>) -> Result<NodeId, FormulaError> {
        let function = Function::named(name)
            .ok_or_else(|| Problem::UnknownFunction { name: name.into() }.at(span.clone()))?;
        self.next();
        let arguments = self.arguments()?;
        let whole = span.start..self.tokens[self.at - 1].1.end;
        if !function.arity.contains(&arguments.len()) {
            let (expected, found) = (function.arity_in_words(), arguments.len());
            return Err(Problem::WrongCount { function: function.name, expected, found }.at(whole));
        }
        let node = self.expand(function.form, arguments)?;
        self.nodes[node].span = whole;
        Ok(node)
    }

    /// The arguments of a call and the parentheses around them.
    fn arguments(&mut self) -> Result<Vec<NodeId>, FormulaError> {
        let (_, open) = self.next();
        let mut arguments = Vec::new();
        if self.take(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression(0)?);
            if !self.take(",") {
                break;
            }
        }
        self.close(&open)?;
        Ok(arguments)
    }

    /// The operations that a call stands for.
    fn expand(&mut self, form: Form, arguments: Vec<NodeId>) -> Result<NodeId, FormulaError> {
        match form {
            Form::Direct(operation) => self.apply(operation, arguments),
            Form::Fold(binary) => {
                let (first, rest) = arguments.split_first().expect("a fold takes two arguments or more");
                rest.iter()
                    .try_fold(*first, |left, right| self.apply(Operation::Binary(binary), vec![left, *right]))
            }
            Form::Clip => {
                let raised =
                    self.apply(Operation::Binary(Binary::Maximum), vec![arguments[0], arguments[1]])?;
                self.apply(Operation::Binary(Binary::Minimum), vec![raised, arguments[2]])
            }
        }
    }

    fn apply(&mut self, operation: Operation, operands: Vec<NodeId>) -> Result<NodeId, FormulaError> {
        for (place, &operand) in operands.iter().enumerate() {
            if operation.takes_condition(place) && !self.nodes[operand].kind.is_condition() {
                return Err(Problem::NotACondition.at(self.nodes[operand].span.clone()));
            }
        }
        let start = operands.iter().map(|&operand| self.nodes[operand].span.start).min().unwrap_or_default();
        let end = operands.iter().map(|&operand| self.nodes[operand].span.end).max().unwrap_or_default();
        Ok(self.push(NodeKind::Apply { operation, operands }, start..end))
    }

    fn push(&mut self, kind: NodeKind, span: Range<usize>) -> NodeId {
        self.nodes.push(Node { span, kind });
        self.nodes.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as text, every operation in parentheses.
    fn shown(text: &str) -> String {
        let formula = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut shown: Vec<String> = Vec::new();
        for node in &formula.nodes {
            shown.push(match &node.kind {
                NodeKind::Number(value) => value.to_string(),
                NodeKind::Name { name, .. } => name.clone(),
                NodeKind::Apply { operation, operands } => {
                    let operands: Vec<&str> = operands.iter().map(|&id| shown[id].as_str()).collect();
                    let name = match operation {
                        Operation::Unary(unary) => format!("{unary:?}"),
                        Operation::Binary(binary) => format!("{binary:?}"),
                        Operation::Where => "Where".into(),
                    };
                    format!("{name}({})", operands.join(" "))
                }
            });
        }
        shown.pop().unwrap()
    }

    #[test]
    fn operators_bind_as_in_python() {
        let cases = [
            ("a - b - c", "Subtract(Subtract(a b) c)"),
            ("a + b * c", "Add(a Multiply(b c))"),
            ("-a ** 2", "Negate(Power(a 2))"),
            ("2 ** -a", "Power(2 Negate(a))"),
            ("a ** b ** c", "Power(a Power(b c))"),
            ("a / b % c", "Remainder(Divide(a b) c)"),
            ("not a > 1 and b < 2 or c == 3", "Or(And(Not(Greater(a 1)) Less(b 2)) Equal(c 3))"),
            ("a > 1 && !(b != 2) || c >= 3", "Or(And(Greater(a 1) Not(NotEqual(b 2))) GreaterOrEqual(c 3))"),
            ("(a - b) / (a + b)", "Divide(Subtract(a b) Add(a b))"),
            ("max(a, b, c)", "Maximum(Maximum(a b) c)"),
            ("clip(a, 0, 1)", "Minimum(Maximum(a 0) 1)"),
            ("where(a <= 0, `b 1`, -+c)", "Where(LessOrEqual(a 0) b 1 Negate(c))"),
            ("(a > 1) * 2", "Multiply(Greater(a 1) 2)"),
            ("(a < b) < c", "Less(Less(a b) c)"),
        ];
        for (text, tree) in cases {
            assert_eq!(shown(text), tree, "{text}");
        }
    }

    #[test]
    fn faults_are_marked_where_they_are() {
        let count = |function, expected: &str, found| Problem::WrongCount {
            function,
            expected: expected.into(),
            found,
        };
        let cases = [
            ("  ", 0..2, Problem::Empty),
            ("(a + b", 0..1, Problem::OpenParenthesis),
            ("abs(a", 3..4, Problem::OpenParenthesis),
            ("abs(a, b)", 0..9, count("abs", "1 argument", 2)),
            ("a + clip(a)", 4..11, count("clip", "3 arguments", 1)),
            ("min(a)", 0..6, count("min", "2 or more arguments", 1)),
            ("foo(a)", 0..3, Problem::UnknownFunction { name: "foo".into() }),
            ("a and b > 1", 0..1, Problem::NotACondition),
            ("where(a + 1, b, c)", 6..11, Problem::NotACondition),
            ("not (a + 1)", 4..11, Problem::NotACondition),
            ("a < abs(b) < c", 11..12, Problem::Chained),
            ("a b", 2..3, Problem::Unexpected { expected: "an operator or the end", found: "`b`".into() }),
            (
                "a +",
                3..3,
                Problem::Unexpected { expected: "a number, a band or `(`", found: "the end".into() },
            ),
            ("a + )", 4..5, Problem::Unexpected { expected: "a number, a band or `(`", found: "`)`".into() }),
            ("(a b)", 3..4, Problem::Unexpected { expected: "an operator or `)`", found: "`b`".into() }),
        ];
        for (text, span, problem) in cases {
            assert_eq!(parse(text), Err(FormulaError { span, problem }), "{text}");
        }
    }

    #[test]
    fn misspelt_functions_are_helped_with_the_nearest() {
        let help = |text| parse(text).unwrap_err().problem.help();
        assert_eq!(help("sqr(a)"), "did you mean `sqrt`?");
        assert!(help("median(a)").starts_with("functions are abs, acos"));
        assert_eq!(help("a ^ 2"), "write `**` for a power");
    }

    #[test]
    fn deep_nesting_is_refused_and_long_sums_are_not() {
        let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(matches!(parse(&deep).unwrap_err().problem, Problem::TooDeep { .. }));
        assert!(parse(&"-".repeat(100_000)).is_err());
        assert!(parse(&format!("{}a{}", "(".repeat(60), ")".repeat(60))).is_ok());
        assert!(parse(&format!("a{}", " + a".repeat(100_000))).is_ok());
    }
}
