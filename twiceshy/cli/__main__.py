from twiceshy.cli import app

app()
