from twiceshy.cli import app

app(prog_name="twiceshy")
