"""Cross-lingual consistency, CLC (SMALR, section 3.4): a query is scored together with its translations.

mean.py is CLC-A, learned.py is CLC-C, and fit.py learns the weights of CLC-C.
"""
