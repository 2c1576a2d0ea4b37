"""B014 missing boxes, B021 odd paths, B039 no cameras; a slow reference for reading in blocks."""

from __future__ import annotations

import csv
import random
import time
import zipfile

import numpy as np
import pytest
from PIL import Image

from reid_core.data.datasets.csv_table import csv_table
from reid_core.data.datasets.tables import csv_file
from reid_core.errors import ConfigError, DataError


@pytest.fixture
def write(tmp_path):
    """Write a table, and the images that tests name."""
    for name in ("a.png", "b.png", "c.png"):
        Image.new("RGB", (10, 10)).save(tmp_path / name)

    def table(text, name="mine.csv", encoding="utf-8"):
        (tmp_path / name).write_text(text, encoding=encoding, newline="")
        return tmp_path / name

    return table


def message(error, call, *arguments, **parameters):
    with pytest.raises(error) as caught:
        call(*arguments, **parameters)
    return str(caught.value)


def test_b039_path_and_pid_are_enough_and_cameras_are_then_not_known(write, tmp_path):
    manifest = csv_table(write("path,pid\nb.png,7\na.png,10\n"))
    assert manifest.name == "mine"
    assert manifest.root == tmp_path
    assert manifest.paths.tolist() == ["b.png", "a.png"]
    assert manifest.pids.tolist() == [7, 10]
    assert manifest.pids.dtype == np.int64
    assert manifest.splits.tolist() == ["train", "train"]
    assert not manifest.has_cameras
    assert manifest.notes == ()
    assert dict(manifest.columns) == {}


def test_all_columns_keep_their_order_and_types(write):
    manifest = csv_table(
        write(
            "split,camid,pid,path,frames,times,species,weight,note\n"
            "train,front,007,a.png,3,1.5,zebra,12,x\n"
            "query,back,8,b.png,004,,lion,,\n"
            "test,back,8,c.png,5,2,lion,7.25,1\n"
        ),
        title="zoo",
    )
    assert manifest.name == "zoo"
    assert manifest.pids.tolist() == ["007", "8", "8"]
    assert manifest.camids.tolist() == ["front", "back", "back"]
    assert manifest.has_cameras
    assert manifest.splits.tolist() == ["train", "query", "gallery"]
    assert list(manifest.columns) == ["frames", "times", "species", "weight", "note"]
    assert manifest.columns["frames"].tolist() == [3, 4, 5]
    assert manifest.columns["frames"].dtype == np.int64
    np.testing.assert_array_equal(manifest.columns["times"], [1.5, np.nan, 2])
    assert manifest.columns["species"].tolist() == ["zebra", "lion", "lion"]
    np.testing.assert_array_equal(manifest.columns["weight"], [12, np.nan, 7.25])
    assert manifest.columns["note"].tolist() == ["x", "", "1"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_b021_delimiters_line_ends_marks_and_quotes_are_understood(delimiter, end, encoding, write):
    name = "数据 #1/Märket,1;5\t|01.png"
    lines = [["path", "pid"], [f'"{name}"', '"he said ""ü"""'], ["", ""], [], ["a.png", "b"]]
    text = end.join(delimiter.join(line) for line in lines)
    manifest = csv_table(write(text, encoding=encoding))
    assert manifest.paths.tolist() == [name, "a.png"]
    assert manifest.pids.tolist() == ['he said "ü"', "b"]


def test_blanks_after_a_delimiter_are_no_part_of_a_value(write):
    manifest = csv_table(write('path, pid, note\na.png, 7, "x, y"\n'))
    assert (manifest.pids.tolist(), manifest.columns["note"].tolist()) == ([7], ["x, y"])


def test_a_delimiter_can_be_named(write):
    manifest = csv_table(write("path:pid\na.png:b,c\n"), delimiter=":")
    assert manifest.pids.tolist() == ["b,c"]
    text = message(ConfigError, csv_table, write("path:pid\n"), delimiter="::")
    assert "delimiter is '::'; expected one character" in text


def test_values_in_quotes_are_text(write):
    quoted = csv_table(write('path,pid,camid,age\na.png,"1","2","3"\nb.png,"1","10","4"\n'))
    assert quoted.pids.tolist() == ["1", "1"]
    assert quoted.cameras.tolist() == ["10", "2"]
    assert quoted.columns["age"].tolist() == ["3", "4"]
    plain = csv_table(write("path,pid,camid,age\na.png,1,2,3\nb.png,1,10,4\n"))
    assert (plain.cameras.tolist(), plain.columns["age"].tolist()) == ([2, 10], [3, 4])


def test_values_in_quotes_are_text_below_an_empty_line_too(write):
    manifest = csv_table(write('path,pid\n\n,\na.png,"7"\nb.png,"8"\n'))
    assert manifest.pids.tolist() == ["7", "8"]


def test_a_table_without_rows_is_refused(write):
    for text in ("path,pid\n", "path,pid\n\n,\n"):
        assert message(DataError, csv_table, write(text)).endswith(
            "mine.csv): the table has no rows; expected one for each image"
        )


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-2", "0"], [1, -2, 0]),
        (["1", "2.5", "1e3"], [1.0, 2.5, 1000.0]),
        (["1", "01"], ["1", "01"]),
        (["1.5", "007"], ["1.5", "007"]),
        (["1", "+2"], ["1", "+2"]),
        (["1_0", "2"], ["1_0", "2"]),
        (["-0", "1"], [-0.0, 1.0]),
        (["9" * 18, "1"], [10**18 - 1, 1]),
        (["9" * 30, "1"], ["9" * 30, "1"]),
        (["inf", "1"], ["inf", "1"]),
    ],
)
@pytest.mark.parametrize("block", [1, 100])
def test_a_column_is_numbers_only_where_no_spelling_is_lost(
    cells, expected, block, write, monkeypatch
):
    monkeypatch.setattr(csv_file, "_BLOCK", block)
    lines = "".join(f"a.png,x,{cell}\n" for cell in cells)
    values = csv_table(write(f"path,pid,more\n{lines}")).columns["more"].tolist()
    assert values == expected
    assert [type(value) for value in values] == [type(value) for value in expected]


@pytest.mark.parametrize("block", [1, 100])
def test_an_integer_that_a_float_cannot_hold_stays_as_it_is(block, write, monkeypatch):
    monkeypatch.setattr(csv_file, "_BLOCK", block)
    manifest = csv_table(write(f"path,pid,key\na.png,x,{2**53 + 1}\nb.png,x,\n"))
    assert manifest.columns["key"].tolist() == [str(2**53 + 1), ""]


def test_blocks_give_what_one_line_after_the_other_gives(write, monkeypatch):
    monkeypatch.setattr(csv_file, "_BLOCK", 7)
    rng = random.Random(0)
    header = ["path", "pid", "camid", "split", "text", "number"]
    lines = [
        [
            f"{row}.png", f"p{rng.randrange(9)}", str(rng.randrange(4)),
            rng.choice(["train", "query", "gallery"]), rng.choice(["", "x,y", 'q"']), str(row / 4),
        ]
        for row in range(100)
    ]  # fmt: skip
    path = write("")
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *lines])
    (path.parent / "0.png").touch()
    manifest = csv_table(path)
    found = [
        manifest.paths, manifest.pids, manifest.camids, manifest.splits,
        manifest.columns["text"], manifest.columns["number"],
    ]  # fmt: skip
    types = [str, str, int, str, str, float]
    for column, kind, expected in zip(found, types, zip(*lines, strict=True), strict=True):
        assert column.tolist() == [kind(value) for value in expected]


def test_columns_and_splits_are_renamed_or_left_out(write):
    manifest = csv_table(
        write("file,who,set,junk\na.png,x,fit,1\nb.png,y,val,2\nc.png,z,bad,3\n"),
        columns={"path": "file", "pid": "who", "split": "set", "junk": None},
        splits={"fit": "train", "val": "query", "bad": None},
    )
    assert manifest.pids.tolist() == ["x", "y"]
    assert manifest.splits.tolist() == ["train", "query"]
    assert dict(manifest.columns) == {}
    assert manifest.notes == ("1 row left out, as splits says",)


def test_tables_of_open_metric_learning_are_read_as_they_are(write):
    manifest = csv_table(
        write(
            ",label,path,split,is_query,is_gallery,category,x_1,x_2,y_1,y_2\n"
            "0,1,a.png,train,,,dog,1.0,5.0,2.0,8.0\n"
            "1,2,b.png,validation,True,False,dog,,,,\n"
            "2,2,c.png,validation,False,True,dog,0,1,0,2\n"
        )
    )
    assert manifest.pids.tolist() == [1, 2, 2]
    assert manifest.splits.tolist() == ["train", "query", "gallery"]
    nothing = [np.nan] * 4
    np.testing.assert_array_equal(manifest.columns["boxes"], [[1, 2, 4, 6], nothing, [0, 0, 1, 2]])
    assert sorted(manifest.columns) == ["boxes", "category"]


def test_a_row_that_is_query_and_gallery_is_refused(write):
    path = write("path,pid,is_query,is_gallery\na.png,1,0,1\nb.png,1,1,1\n")
    text = message(DataError, csv_table, path)
    assert "line 3, column is_query: it is query and gallery at once" in text
    assert "`--param 'columns={is_query: null, is_gallery: null}'`" in text
    columns = {"is_query": None, "is_gallery": None}
    assert csv_table(path, columns=columns).splits.tolist() == ["train", "train"]


def test_a_row_that_is_for_nothing_is_refused(write):
    path = write("path,label,split,is_query,is_gallery\na.png,1,validation,0,0\n")
    text = message(DataError, csv_table, path)
    assert "line 2, column split: it is 'validation', but neither is_query nor is_gallery" in text
    path = write("path,label,is_query,is_gallery\na.png,1,maybe,0\n")
    assert "column is_query: got 'maybe'; expected True or False" in message(
        DataError, csv_table, path
    )


@pytest.mark.parametrize("empty", ["", "NaN", "[]", "nan nan nan nan"])
@pytest.mark.parametrize("written", ['"[1, 1, 4, 4]"', "1 1 4 4", '"(1;1.0;4;4)"'])
def test_b014_rows_without_a_box_are_the_whole_image_and_counted(written, empty, write):
    path = write(f"path,pid,bbox\na.png,x,{written}\nb.png,x,{empty}\nc.png,y,{empty}\n")
    manifest = csv_table(path)
    nothing = [np.nan] * 4
    np.testing.assert_array_equal(manifest.columns["boxes"], [[1, 1, 4, 4], nothing, nothing])
    assert manifest.notes == ("2 rows without a box: the whole image, for example b.png",)
    dropped = csv_table(path, no_box="drop")
    assert dropped.paths.tolist() == ["a.png"]
    assert dropped.notes == ("2 rows left out, without a box",)


def test_b014_boxes_in_four_columns(write):
    manifest = csv_table(write("path,pid,x,y,w,h\na.png,x,2,3,4,5\nb.png,x,,,,\n"))
    np.testing.assert_array_equal(manifest.columns["boxes"], [[2, 3, 4, 5], [np.nan] * 4])
    assert list(manifest.columns) == ["boxes"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("path,pid,bbox\na.png,x,1 2 3\n", "line 2, column bbox: got '1 2 3'; expected [x, y,"),
        ("path,pid,bbox\na.png,x,a b c d\n", "line 2, column bbox: got 'a b c d'"),
        ("path,pid,x,y,w,h\na.png,x,1,2,,4\n", "line 2, column w: the box has no such value"),
        ("path,pid,x,y,w,h\na.png,x,1,2,wide,4\n", "line 2, column w: got 'wide'; expected a num"),
        ("path,pid,x,y,w,h,bbox\na.png,x,1,2,3,4,1 2 3 4\n", "boxes are there twice, in the colum"),
        ("path,pid,bbox\na.png,x,0.1 0.2 0.5 0.5\n", "above 0.5, so they look like fractions"),
    ],
)
def test_a_box_that_is_none_is_refused(text, expected, write):
    assert expected in message(DataError, csv_table, write(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1 is empty; expected the columns' names"),
        ("path,identity\na.png,x\n", "no column pid, the identity; the columns are path, identity"),
        ("path,PID\na.png,x\n", "there is no column pid, the identity; did you mean PID?"),
        ("pid,camid\n1,2\n", "there is no column path, the image's path"),
        ("path,pid,pid\na.png,1,2\n", "there are two columns pid"),
        ("path,pid\na.png,x\nb.png,x,y\n", "line 3: 3 values; expected 2, as in line 1"),
        ("path,pid\n\na.png,x\nb.png\n", "line 4: 1 values; expected 2"),
        ('path,pid\n"a\n.png",x\nb.png\n', "line 4: 1 values; expected 2"),
        ('path,pid,"two\nlines"\na.png,,x\n', "line 3, column pid: it is empty"),
        ("path,pid\na.png,x\nb.png,\n", "line 3, column pid: it is empty; expected an integer or"),
        ("path,pid\na.png,x\n,x\n", "line 3, column path: it is empty"),
        ("path,pid,camid\na.png,x,1\nb.png,x,\n", "line 3, column camid: it is empty"),
        ("path,pid,split\na.png,x,val\n", "line 2, column split: got 'val'; expected one of"),
        ("path,pid,split\na.png,x,val\n", "splits={val: gallery}"),
        ("path,pid,times\na.png,x,noon\n", "line 2, column times: got 'noon'; expected seconds,"),
        ("path,pid,frames\na.png,x,one\n", "line 2, column frames: got 'one'; expected a number"),
        ('path,pid\n"a.png,x\n', "line 2: the file ends inside of quotes; close the quotation"),
        ("path,pid\na.png,x\n/b.png,x\n", "line 2, column path: a.png is relative, but /b.png"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_understood_says_where_and_why(text, expected, write):
    found = message(DataError, csv_table, write(text))
    assert found.startswith("data set mine (")
    assert "mine.csv" in found
    assert expected in found


def test_a_renamed_column_that_is_not_there_is_named(write):
    text = message(DataError, csv_table, write("path,label\n"), columns={"pid": "lable"})
    assert "pid is in the column lable, which is not there; did you mean label?" in text
    text = message(DataError, csv_table, write("path,pid\n"), columns={"pdi": None})
    assert "columns ignores the column pdi, which is not there; did you mean pid?" in text


def test_what_is_said_to_type_holds_all_that_is_missing_and_all_that_was_given(write):
    text = message(DataError, csv_table, write("file,who\n"))
    assert "no column path, the image's path and no column pid, the identity; the columns" in text
    assert "`--param 'columns={path: NAME, pid: NAME}'`" in text
    text = message(DataError, csv_table, write("file,who\n"), columns={"path": "file"})
    assert "`--param 'columns={path: file, pid: NAME}'`" in text
    table = write("path,pid,split\na.png,x,val\nb.png,x,fit\n")
    text = message(DataError, csv_table, table, splits={"fit": "train"})
    assert "`--param 'splits={fit: train, val: gallery}'`" in text


def test_an_error_in_a_renamed_column_names_the_table_s_own(write):
    text = message(DataError, csv_table, write("path,who\na.png,\n"), columns={"pid": "who"})
    assert "line 2, column who: it is empty" in text


def test_a_column_of_cameras_without_any_is_as_none(write):
    manifest = csv_table(write("path,pid,camid\na.png,x,\nb.png,x,\n"))
    assert not manifest.has_cameras
    assert manifest.camids.tolist() == [0, 0]


def test_a_ragged_line_of_a_later_block_is_named(write, monkeypatch):
    monkeypatch.setattr(csv_file, "_BLOCK", 2)
    text = message(DataError, csv_table, write("path,pid\n" + "a.png,x\n" * 5 + "b.png\n"))
    assert "line 7: 1 values; expected 2" in text


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system has no tzset")
def test_dates_are_those_of_greenwich_wherever_they_are_read(write, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        manifest = csv_table(write("path,pid,times\na.png,x,1970-01-01 00:00:01\n"))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert manifest.columns["times"].tolist() == [1]


def test_dates_become_seconds(write):
    lines = "a.png,x,1970-01-02 00:00:01\nb.png,x,1970-01-01T01:00:00+01:00\nc.png,x,\n"
    manifest = csv_table(write(f"path,pid,times\n{lines}"))
    np.testing.assert_array_equal(manifest.columns["times"], [86401, 0, np.nan])


def test_columns_with_a_number_in_brackets_become_one(write):
    manifest = csv_table(write("path,pid,attributes[0],attributes[1],b[1]\na.png,x,0,-1,5\n"))
    assert manifest.columns["attributes"].tolist() == [[0, -1]]
    assert manifest.columns["b[1]"].tolist() == [5]


def test_distractors_are_told(write):
    assert csv_table(write("path,pid\na.png,0\n"), distractors=[0]).distractors == (0,)


def test_backslashes_part_folders(write, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/d.png").touch()
    assert csv_table(write("path,pid\nsub\\d.png,x\n")).paths.tolist() == ["sub/d.png"]


def test_paths_start_at_root_or_else_at_the_table(write, tmp_path):
    (tmp_path / "tables").mkdir()
    path = write("path,pid\na.png,x\n", name="tables/mine.csv")
    assert csv_table(path, root=tmp_path).root == tmp_path
    text = message(DataError, csv_table, path)
    assert f"none of 1 images that were looked for in {tmp_path / 'tables'} is there" in text
    assert "for example a.png" in text
    assert "set root to the folder" in text
    up = write("path,pid\n../a.png,x\n", name="tables/up.csv")
    assert csv_table(up).paths.tolist() == ["../a.png"]


def test_a_root_that_is_not_there_names_the_nearest(write, tmp_path):
    text = message(DataError, csv_table, write("path,pid\na.png,x\n"), root=tmp_path / "none")
    assert f"there is no folder {tmp_path / 'none'}" in text
    assert f"the nearest that exists is {tmp_path}, with a.png, b.png, c.png and 1 more" in text


def test_absolute_paths_start_at_the_folder_they_share(write, tmp_path):
    (tmp_path / "sub").mkdir()
    here = tmp_path.as_posix()
    path = write(f"path,pid\n{here}/sub/d.png,x\n{here}/a.png,x\n")
    assert csv_table(path).root == tmp_path
    assert csv_table(path).paths.tolist() == ["sub/d.png", "a.png"]
    assert csv_table(path, root=tmp_path.parent).paths.tolist()[1] == f"{tmp_path.name}/a.png"
    text = message(DataError, csv_table, path, root=tmp_path / "sub")
    assert f"line 3, column path: {here}/a.png is not below root" in text


def test_a_missing_image_among_others_is_left_to_the_check(write):
    assert len(csv_table(write("path,pid\na.png,x\nmissing.png,x\n"))) == 2


def test_rows_that_repeat_an_image_of_their_split_are_counted(write):
    text = "path,pid,split\na.png,x,train\nb.png,x,train\na.png,x,query\na.png,y,train\n"
    assert csv_table(write(text)).notes == (
        "1 row repeats an image of the same split, for example a.png",
    )
    boxes = "path,pid,bbox\na.png,x,1 1 4 4\na.png,y,5 1 4 4\na.png,z,1 1 4 4\nb.png,z,\nb.png,z,\n"
    assert csv_table(write(boxes)).notes[1] == (
        "2 rows repeat an image of the same split, for example a.png"
    )


def test_a_file_that_is_not_there_names_the_nearest(write, tmp_path):
    write("path,pid\na.png,x\n", name="images.csv")
    text = message(DataError, csv_table, tmp_path / "image.csv")
    assert f"there is no file {tmp_path / 'image.csv'}" in text
    assert f"did you mean {tmp_path / 'images.csv'}?" in text
    assert "is a folder" in message(DataError, csv_table, tmp_path)
    assert "nor one under REID_DATASETS" in message(DataError, csv_table, "nowhere.csv")


def test_another_encoding_is_named_with_its_line(write):
    text = message(DataError, csv_table, write("path,pid\na.png,Zoë\n", encoding="latin-1"))
    assert "mine.csv), line 2: it is not UTF-8: the byte 0xeb after 'a.png,Zo'; save the" in text
    text = message(DataError, csv_table, write("päth,pid\n", encoding="latin-1"))
    assert "line 1: it is not UTF-8: the byte 0xe4 after 'p'" in text
    text = message(DataError, csv_table, write("path,pid\na.png,x\n", encoding="utf-16"))
    assert text.endswith("is no table of text: it is in UTF-16; save it as 'CSV UTF-8'")


def test_a_workbook_that_is_called_a_table_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "mine.csv", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", bytes(range(256)) * 4)
    text = message(DataError, csv_table, tmp_path / "mine.csv")
    assert "is no table of text: it is a workbook of Excel, or another zip file; save" in text


def test_a_quotation_mark_that_is_never_closed_is_suspected(write):
    lines = "".join(f"{row}.png,x\n" for row in range(20_000))
    text = message(DataError, csv_table, write(f'path,pid\na.png,"x\n{lines}'))
    assert "a value of more than 131,072 characters: a quotation mark that is not closed" in text


def test_all_rows_without_an_identity_are_counted_and_the_first_ones_named(write):
    lines = "".join(f"a.png,{'x' if row % 2 else ' '}\n" for row in range(12))
    text = message(DataError, csv_table, write(f"path,pid\n{lines}"))
    assert (
        "line 2, column pid: it is empty, and so is that of line 4, line 6, line 8 and 2 more; "
        "expected an integer or text; remove 6 of 12 rows, or fill them in"
    ) in text


def test_reading_a_table_needs_no_list_of_all_rows(write, monkeypatch):
    taken = []
    take = csv_file._Source._take

    def watched(self, reader, count):
        block = take(self, reader, count)
        taken.append(len(block))
        return block

    monkeypatch.setattr(csv_file._Source, "_take", watched)
    csv_table(write("path,pid\n" + "a.png,x\n" * 40_000))
    assert sum(taken[-4:]) == 40_000
    assert max(taken) == 2**14


def test_text_much_wider_than_most_is_not_stored_at_the_width_of_the_longest(write):
    lines = "a.png,x,short\n" * 2_000 + f"a.png,x,{'long ' * 4_000}\n"
    note = csv_table(write(f"path,pid,note\n{lines}")).columns["note"]
    assert note.tolist()[::2_000] == ["short", "long " * 4_000]
    assert note.nbytes < 2**20
