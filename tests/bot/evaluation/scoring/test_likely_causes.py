import pytest

from tests.bot.evaluation.rejections import GOOD, saying


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("id;y\n1;0,5\n2;1\n3;2\n", "separated by commas, not semicolons"),
        ("id\ty\n1\t0.5\n2\t1\n3\t2\n", "separated by commas, not tabs"),
        ("1,0.5\n2,1\n3,2\n", "its first line is a row (id '1'), not the header"),
        (
            ",id,y\n0,1,0.5\n1,2,1\n2,3,2\n",
            "should not have the column ''; expected are id, y; the first column looks like",
        ),
        ("Unnamed: 0,id,y\n0,1,0.5\n", "table's index (pandas: index=False)"),
        ("ID,Y\n1,0\n", "its column 'ID' is not written like 'id'"),
        ("id, y\n1,0\n", "its column ' y' is not written like 'y'"),
        ("id,y,\n1,0,\n", "its header ends with a comma"),
        ("id,y\n1,0,\n2,1,\n", "row 1: 3 cells where the header has 2; it ends with a comma"),
        ("id,y\n1,0,5\n2,1,2\n", "it may hold a decimal comma, or one between thousands."),
        ("id,y\n1;2\n", "row 1: 1 cells where the header has 2; cells are to be separated by commas, not semicolons"),
        ('id,y\n1,"0,5"\n', "is not a number: '0,5'; the decimal mark is a point"),
        ('id,y\n1,"12,345.6"\n', "thousands have no mark"),
        ("id,y\n1,12 345\n", "thousands have no mark"),
        ("id,y\n1,50%\n", "percentages are to be written as shares"),
        ("id,y\n1,True\n", "truth values are to be written as 1 and 0"),
        ("id,y\n1,0x1A\n", "is to be written in decimal"),
        ("id,y\n1,1e999\n", "is not finite: '1e999'"),
        ("id,y\n1,\u0661\n", "is not a number: '\u0661'"),
        ("id,y\n1.0,0\n2.0,1\n", "written as a decimal number where the sample has '1'"),
        ("id,y\n 1,0\n", "the sample has it without blanks, '1'"),
        ("id,y\n001,0\n", "the sample writes this number as '1'"),
        ('id,y\n1,0\n2,"1\n3,2\n', "row 2 opens a quote that is never closed"),
        ('"id,y\n1,0\n2,1\n3,2\n', "its header opens a quote that is never closed"),
        ("\ufeff\ufeffid,y\n1,0\n", r"its column '\ufeffid' is not written like 'id'"),
        ("id,y\n" + "\n" * 2000, "has more than 1,003 blank lines"),
        ("\n\n \n", "is empty"),
        (GOOD + "4,1\n", "row 4: the id '4' is not in the sample"),
        (GOOD + "3,1\n", "row 4: the id '3' appears too often"),
    ],
)
def test_the_likely_cause_of_a_common_mistake_is_named(sample, content, expected):
    assert expected in saying(sample, content)
