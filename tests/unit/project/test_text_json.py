"""The strict JSON reader: same values as the standard library's, and errors that say what and where."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.text import json_grammar
from neuralart.text.json_values import JSON_DEPTH, parse, parse_tolerant, parse_tool


def refusal(text: str | bytes, **options) -> NeuralArtError:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(NeuralArtError) as caught:
        parse(data, "f.json", **options)
    return caught.value


scalars = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(values, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_reads_what_the_standard_library_writes(value, indent, ascii_text):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_text)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a lone surrogate cannot be in a file
        return
    if any(0xD800 <= ord(char) < 0xE000 for char in json.dumps(value, ensure_ascii=False)):
        assert "surrogate" in refusal(text).what
    else:
        assert parse(data, "f.json").value == json.loads(text)


@given(st.text("{}[]\",:0123456789abtrue -+.eE\\u\n\r/*#'\t", max_size=30))
def test_agrees_with_the_standard_library_on_what_is_json(text):
    def unique(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("duplicate key")
        return dict(pairs)

    try:
        expected = json.loads(text, object_pairs_hook=unique, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError, RecursionError):
        refusal(text)
    else:
        if "e" in text or "E" in text:
            try:
                assert parse(text.encode(), "f").value == expected
            except NeuralArtError as error:
                assert "too large" in error.what  # the standard library says infinity
        else:
            assert parse(text.encode(), "f").value == expected


@given(st.binary(max_size=40), st.booleans(), st.booleans())
def test_any_bytes_give_a_value_or_one_line(data, relaxed, ascii_only):
    try:
        parse(data, "f.json", relaxed=relaxed, ascii_only=ascii_only)
    except NeuralArtError as error:
        assert "\n" not in str(error)
        assert error.where.startswith("f.json:")
        assert [int(part) >= 1 for part in error.where.split(":")[1:]] == [True, True]


def test_places():
    node = parse(b'{\n  "a": [1,\r\n\t22, {"b": "x"}]\r}', "f.json")
    items = node.need("a").items()
    assert [str(item.where) for item in items] == ["f.json:2:9", "f.json:3:2", "f.json:3:6"]
    assert str(items[2].need("b").where) == "f.json:3:12"
    assert [value.described for value in (node, items[0], items[2].need("b"))] == ["an object", "a number", "a text"]
    assert (items[2].need("b").key, items[2].key, node.name) == ("a[2].b", "a[2]", "the document")
    assert items[2].called("pool X").need("b").key == "b of pool X"


@pytest.mark.parametrize(
    ("text", "where", "what", "hint"),
    [
        ("", "1:1", "the file is empty", ""),
        (" \n ", "2:2", "the file is empty", ""),
        ('{"a": 1,\n}', "1:8", "a comma before '}'", "trailing comma"),
        ("[1, 2, ]", "1:6", "a comma before ']'", "trailing comma"),
        ("[1,,2]", "1:4", "two commas", ""),
        ('{"fname: "AXISRAM1"}', "1:11", "':' is missing after the key 'fname: ': found 'AXISRAM1'", "quote missing"),
        ('{"value": "0x34, "m": 1}', "1:19", "',' or '}' is missing: found 'm'", "a quote"),
        ('{"a": "x\n}', "1:7", "this text is not closed on its line", "closing quote"),
        ('{"a": 1\n "b": 2}', "2:2", "',' or '}' is missing: found '\"'", "comma missing"),
        ('{"a" 1}', "1:6", "':' is missing after the key 'a': found '1'", ""),
        ("{a: 1}", "1:2", "a key in double quotes is missing: found 'a'", ""),
        ("{'a': 1}", "1:2", "a single quote where a key should start", "double quotes"),
        ("{\"a\": 'x'}", "1:7", "a single quote where a value should start", "double quotes"),
        ('{"a": \u201cx\u201d}', "1:7", "a typographic quote where a value should start", "double quotes"),
        ('{ // note\n"a": 1}', "1:3", "a comment is not allowed here", "no comments"),
        ('{"a": 1} /* x */', "1:10", "a comment is not allowed here", "no comments"),
        ("# x\n{}", "1:1", "'#' starts no comment in JSON", ""),
        ('{"a": 1, "a": 2}', "1:10", "the key 'a' stands here a second time", "first at 1:2"),
        ('{"a": 0x10}', "1:7", "'0x10' is not a JSON number", '"0x10"'),
        ('{"a": 010}', "1:7", "'010' is not a JSON number", "leading zeros"),
        ('{"a": +1}', "1:7", "'+1' is not a JSON number", ""),
        ('{"a": True}', "1:7", "'True' is not a JSON value", "write true"),
        ('{"a": NaN}', "1:7", "'NaN' is not a JSON value", ""),
        ('{"a": ACC_READ}', "1:7", "'ACC_READ' is not a JSON value", "quote missing"),
        ('{"a": 1e999}', "1:7", "1e999 is too large", ""),
        ('{"a": ' + "1" * 50 + "}", "1:7", "a number of 50 characters", ""),
        ('{"a": "C:\\pools"}', "1:10", "unknown escape '\\p'", "in paths use /"),
        ('{"a": "\\u12"}', "1:8", "\\u needs four hexadecimal digits", ""),
        ('{"a": "\\ud800"}', "1:8", "half of a \\u surrogate pair", ""),
        ('{"a": "x\ty"}', "1:9", "control character 0x09 in a text", ""),
        ('{"a": [1}', "1:9", "',' or ']' is missing: found '}'", "'[' of 1:7"),
        ('{"a": [1', "1:9", "the file ends, but '[' of 1:7 is not closed", "complete"),
        ('{"a":', "1:6", "a value is missing: found the end of the file", ""),
        ('{"a": }', "1:7", "a value is missing: found '}'", ""),
        ("{} {}", "1:4", "'{' after the end of the document", ""),
        ("[" * (JSON_DEPTH + 2), f"1:{JSON_DEPTH + 2}", f"nested deeper than {JSON_DEPTH} levels", ""),
        (b"\xef\xbb\xbf{}", "1:1", "the file starts with a byte-order mark (BOM)", "without BOM"),
        (b"\xff\xfe{\x00}\x00", "1:1", "UTF-16 text", "UTF-8"),
        (b'{\n "a": "\xe9"}', "2:8", "byte 0xe9 is not UTF-8", "UTF-8"),
    ],
)
def test_refusals(text, where, what, hint):
    error = refusal(text)
    assert error.where == f"f.json:{where}"
    assert error.what == what
    assert hint in error.hint


def test_ascii_only():
    assert parse('{"a": "\u00e9"}'.encode(), "f").value["a"] == "\u00e9"
    error = refusal('{\n "a": "x\u00e9"}', ascii_only=True)
    assert (error.where, error.what) == ("f.json:2:9", "character U+00E9: this format is ASCII only")


def test_relaxed_comments_and_continued_texts():
    text = '// head\n{ // one\n "a": "x // no\\\n  y", "b": "http://z"\n} // end'
    node = parse(text.encode(), "f", relaxed=True)
    assert node.value == {"a": "x // no  y", "b": "http://z"}
    assert str(node.need("b").where) == "f:4:12"
    assert parse(b'{"a": "x\\\r\n\ty"}', "f", relaxed=True).value == {"a": "x\ty"}


@pytest.mark.parametrize("text", ['{"a": "x\\\ny"}', '{"a": "x\\\r\ny"}'])
def test_strict_has_no_continued_texts(text):
    assert refusal(text).what == "a text cannot be continued on the next line in this format"


def test_relaxed_still_refuses_block_comments():
    error = refusal("/* x */ {}", relaxed=True)
    assert (error.what, error.hint) == ("a comment is not allowed here", "only // to the end of the line is")


def test_a_place_costs_nothing_until_it_is_asked_for(monkeypatch):
    """The careful reader does not read what the standard library can: not at all without a message, once with many."""
    reads = []
    document = json_grammar.Reader.document
    monkeypatch.setattr(json_grammar.Reader, "document", lambda self: reads.append(1) or document(self))
    value = parse_tool(json.dumps({"rows": [{"n": n} for n in range(100)]}).encode(), "f")
    assert [row.integer_at("n") for row in value.items_at("rows")] == list(range(100))
    assert reads == []
    assert len({str(row.where) for row in value.items_at("rows")}) == 100
    assert reads == [1]


@pytest.mark.parametrize("read", [parse, parse_tool, lambda data, file: parse_tolerant(data, file)[0]])
@pytest.mark.parametrize("depth", [JSON_DEPTH + 1, 500, 100_000])
@pytest.mark.parametrize("pair", ["[]", '{"a":}'])
def test_nested_deeply_is_one_line(read, depth, pair):
    """The standard library says RecursionError where it is deep enough, and nothing before."""
    opened, closed = pair[:-1], pair[-1]
    with pytest.raises(NeuralArtError, match=f"nested deeper than {JSON_DEPTH} levels") as caught:
        read((opened * depth + "1" + closed * depth).encode(), "f.json")
    assert caught.value.where.startswith("f.json:1:")


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", "1" * 50, '"\\ud800"', '"\\ud800\\u0041"'])
def test_what_only_tools_write(text):
    value = parse_tool(f'{{"a": [{text}], "n": null}}'.encode(), "f")
    assert repr(value.value) == repr(json.loads(f'{{"a": [{text}], "n": null}}'))
    assert str(value.need("a").items()[0].where) == "f:1:8"
    assert value.get("n") is None
    assert refusal(f'{{"a": [{text}]}}').where == "f.json:1:8" or "surrogate" in refusal(f'{{"a": [{text}]}}').what


def test_null_is_a_value_in_a_file_that_people_write():
    value = parse(b'{"n": null}', "f").get("n")
    assert value is not None
    with pytest.raises(NeuralArtError, match="n must be a text, not null"):
        value.string()


@given(values)
def test_a_tool_s_file_is_read_as_by_the_standard_library(value):
    text = json.dumps(value)
    assert parse_tool(text.encode(), "f").value == json.loads(text)
