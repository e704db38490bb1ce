"""What a model reads on a competition's pages before there is a run; each sentence that it quotes must stand there."""
