"""Random imperative programs and what is right about them.

``program``   what a program is, and how it reads as a script of one engine
``operators`` what a statement can say: NumPy meaning, text per engine, where it may be used
``oracle``    values and derivatives on NumPy arrays that share memory as the tensors do
``generate``  makes programs out of small choices, for a seed or for Hypothesis
``engines``   the library and its peers behind one face
``judge``     runs a program on an engine and says: exact, refused, wrong, ...; makes failing programs short
"""
